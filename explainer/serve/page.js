// What the page does beyond its form: Ctrl+Enter explains, a dropped file is read, fixes can be copied.
const text = document.querySelector("textarea");
const form = document.querySelector("form");
if (text && form) {
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", async (event) => {
    event.preventDefault();
    const file = event.dataTransfer.files[0];
    text.value = file ? await file.text() : event.dataTransfer.getData("text");
    form.requestSubmit();
  });
}
for (const button of document.querySelectorAll("button[data-text]")) {
  button.addEventListener("click", () => navigator.clipboard.writeText(button.dataset.text));
}

"""The page of `explain serve`: paste or drop a text, read its diagnosis. Nothing in a text is run, nothing is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from explainer import api
from explainer.locale import LANGUAGES, language, word
from explainer.probes.scene import Options
from explainer.render import html
from explainer.serve.blocks import blocks

#: The largest text that is read, in bytes.
LARGEST = 32 << 20
#: Nothing but our own script and styles, no frames, no requests elsewhere: a hostile text stays text.
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
_STATIC = Path(__file__).parent


def app(roots: tuple[str, ...] = (".",), packs: tuple[Path, ...] = ()) -> Starlette:
    """The application; sources that a text names are read below `roots` only."""

    async def page(request: Request) -> Response:
        return _page(request, "", "")

    async def explain(request: Request) -> Response:
        size = int(request.headers.get("content-length") or 0)
        if size > LARGEST:
            return PlainTextResponse(f"the text is larger than {LARGEST >> 20} MB: explain FILE\n", 413, HEADERS)
        async with request.form(max_part_size=LARGEST) as form:
            text = str(form.get("text") or "")
            speech = language(str(form.get("lang") or "") or None)
        options = Options(speech, replay=False, source_roots=roots)
        found = await run_in_threadpool(api.explain_text, text, None, options, packs)
        return _page(request, text, html.articles(found.reports), speech, found=bool(found))

    async def rule(request: Request) -> Response:
        speech = language(request.query_params.get("lang"))
        text = await run_in_threadpool(_rule, request.path_params["name"], speech, packs)
        return (
            _page(request, "", "", speech, rule=[*blocks(text)])
            if text
            else PlainTextResponse("no such rule\n", 404, HEADERS)
        )

    routes = [
        Route("/", page),
        Route("/explain", explain, methods=["POST"]),
        Route("/rule/{name}", rule),
        Route("/style.css", lambda _: Response(html.style(), media_type="text/css", headers=HEADERS)),
        Route("/page.js", lambda _: _static("page.js", "text/javascript")),
    ]
    # A page elsewhere that points its own name at this machine is refused.
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    return Starlette(routes=routes, middleware=[hosts])


def _page(request: Request, text: str, articles: str, speech: str | None = None, **more: Any) -> Response:
    speech = speech or language(request.query_params.get("lang"))
    names = {"text": text, "articles": articles, "language": speech, "languages": LANGUAGES, "found": None, "rule": ()}
    return HTMLResponse(html.template("serve.html.j2").render(**{**names, **more}, word=word), headers=HEADERS)


def _rule(name: str, speech: str, packs: tuple[Path, ...]) -> str:
    """The page of a rule or symptom; empty where there is none of that name."""
    from explainer.authoring.pages import whole_page
    from explainer.catalogue import load

    catalogue = load(packs)
    one = catalogue.rules.get(name) or catalogue.symptoms.get(name)
    return whole_page(one, catalogue, speech) if one is not None else ""


def _static(name: str, kind: str) -> Response:
    return Response((_STATIC / name).read_bytes(), media_type=kind, headers=HEADERS)

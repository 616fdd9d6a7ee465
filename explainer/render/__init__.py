"""Reports in, text out: one module a format, each with `render(reports, ...)`. Nothing here looks at a live object."""

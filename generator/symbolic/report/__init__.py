"""Audits as documents: one JSON document, a Markdown and an HTML report to hand to the owner of a text."""

"""Whole decodes, exactly: one block by enumeration, i.i.d. blocks in closed form, long decodes by linear algebra."""

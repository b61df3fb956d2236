// Every bound of an expression, by name: operators write expressions, but clients write what they read.

/** Characters of an expression. */
export const MAX_SOURCE = 4096

/** Nodes of its syntax tree, and how deep they nest; `a || b || c` nests once per operator. */
export const MAX_NODES = 2048
export const MAX_DEPTH = 256

/** Entries of one list or map literal, and arguments of one call. */
export const MAX_LITERAL = 512
export const MAX_ARGUMENTS = 16

/** `all`, `exists`, `exists_one`, `map` and `filter` within each other, and altogether. */
export const MAX_NESTED_COMPREHENSIONS = 2
export const MAX_COMPREHENSIONS = 8

/** Elements all comprehensions of one evaluation may look at together. */
export const MAX_STEPS = 4096

/** Characters of any text an expression's functions build. */
export const MAX_TEXT = 65_536

/** Characters of a URI whose query is read or changed. */
export const MAX_URI = 8192

/** How deep claims and other JSON may nest. */
export const MAX_JSON_DEPTH = 64

/** Characters of a rate limit key: a rule keeps up to 65,536 of them (§8). */
export const MAX_KEY = 1024

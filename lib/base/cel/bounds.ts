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

/** Characters of any text an expression builds, and elements of any list. */
export const MAX_TEXT = 65_536
export const MAX_LIST = 65_536

/**
 * Units of work of one evaluation: a node of a loop's body is one, each time, as is an element of a list that is
 * built or searched, and so many characters or bytes that are built or read.
 */
export const MAX_WORK = 262_144
export const TEXT_PER_UNIT = 32

/** Steps of a regex for one unit: each character of its text can meet each instruction of its pattern. */
export const REGEX_STEPS_PER_UNIT = 64

/** The same for each who waits to see a request: every request is held against all of their expressions. */
export const MAX_WATCH_WORK = 1024

/** Characters of a URI whose query is read or changed. */
export const MAX_URI = 8192

/** How deep claims and other JSON may nest. */
export const MAX_JSON_DEPTH = 64

/** Characters of a rate limit key: a rule keeps up to 65,536 of them (§8). */
export const MAX_KEY = 1024

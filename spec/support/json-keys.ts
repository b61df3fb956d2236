// Member names for specs that compare a JSON reader with JSON.parse.

import type { Arbitrary } from 'fast-check'

/**
 * Without names of one character that must be escaped: JSON.parse of Node 24 (24.21), once it has run for a while, reads
 * such a name, as in {"":"","\n":0,"a":{}}, as a backslash. The readers of this project do not.
 */
export function jsonKeys(strings: Arbitrary<string>): Arbitrary<string> {
  return strings.filter((text) => text.length !== 1 || JSON.stringify(text).length === 3)
}

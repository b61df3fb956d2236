// Names of members for specs that hold a reader of ours against JSON.parse.

import type { Arbitrary } from 'fast-check'

/**
 * Without those of one letter that has to be escaped: once it has run for a while, Node 24 (24.21) reads such a name, as in
 * {"":"","\n":0,"a":{}}, as a backslash. Ours does not.
 */
export function jsonKeys(strings: Arbitrary<string>): Arbitrary<string> {
  return strings.filter((text) => text.length !== 1 || JSON.stringify(text).length === 3)
}

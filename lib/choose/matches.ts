// Runs a regex of the configuration on a text that the client sent.

import { GatewayError } from '../base/errors.ts'
import type { Regex } from '../base/regex.ts'
import { MAX_REGEX_SUBJECT } from '../base/regex.ts'

/**
 * Refuses a text over the bound: to say that it does not match would send it past this route's policies to another
 * route.
 */
export function matches(regex: Regex, text: string): boolean {
  if (text.length <= MAX_REGEX_SUBJECT) return regex.test(text)
  throw new GatewayError(
    'HEAD_TOO_LARGE',
    `request head too large: more than ${MAX_REGEX_SUBJECT} characters where a route matches by regex`,
  )
}

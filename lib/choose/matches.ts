// A regex of the configuration against a text of the client's.

import { GatewayError } from '../base/errors.ts'
import { MAX_REGEX_SUBJECT } from '../base/regex/safety.ts'

/**
 * What was judged safe is safe up to a length. A longer text is refused: to say that it does not match would send it
 * past this route's policies to another route.
 */
export function matches(regex: RegExp, text: string): boolean {
  if (text.length <= MAX_REGEX_SUBJECT) return regex.test(text)
  throw new GatewayError(
    'HEAD_TOO_LARGE',
    `request head too large: more than ${MAX_REGEX_SUBJECT} characters where a route matches by regex`,
  )
}

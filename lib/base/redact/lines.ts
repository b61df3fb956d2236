// Values and lines as people see them: without what is a credential by how it is written, whatever its name.

import { NO_NAMES, REDACTED } from './names.ts'
import { shownTarget } from './texts.ts'

/** After a name for a credential, or a scheme for one; and what looks like a token wherever it stands. */
const NAMED =
  /((?:authorization|api[_-]?key|access[_-]?key|token|secret|passwo?r?d|pwd|cookie)["']?\s*[:=]\s*["']?)(?!<)(?:(?:bearer|basic)\s+)?[^\s"',;]+/gi
const SCHEME = /\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi
const WORD = /[\w.-]{12,}/g
const JWT = /\beyJ[\w-]{8}/
const KEY = /\bsk-[\w-]{16,}/g

/** How a credential in a header begins, whatever the header; a challenge has the name of a parameter there. */
const SCHEMED = /^(\s{0,16}(?:bearer|basic|negotiate)\s{1,16})(?![\w-]{1,64}\s?=\s?["\w])\S/i
/** `Basic plan`: what is encoded has other letters, too. */
const BASICS = /^Basic [a-z ]{1,80}$/
const BEARER = /\b(bearer\s{1,16})(?![\w-]{1,64}\s?=\s?["\w])([\w.~+/=-]{8,})/gi

/** A value of a header or a setting, without what is a credential by how it is written. */
export function shownValue(text: string, names = NO_NAMES): string {
  const scheme = SCHEMED.exec(text)
  if (scheme !== null && !BASICS.test(text)) return scheme[1]! + REDACTED
  return shownTarget(text, names).replace(BEARER, withoutBearer).replace(WORD, withoutToken)
}

/** Words of people are in lower case: `bearer authentication`. */
function withoutBearer(whole: string, scheme: string, word: string): string {
  return /^[a-z]+\.?$/.test(word) ? whole : scheme + REDACTED
}

/** A line that some program printed, without what looks like a credential in it. */
export function shownLine(text: string): string {
  return shownTarget(text)
    .replace(NAMED, `$1${REDACTED}`)
    .replace(SCHEME, `$1 ${REDACTED}`)
    .replace(WORD, withoutToken)
    .replace(KEY, REDACTED)
}

/** Letters of a reason that are shown, and those that are read for that. */
export const MAX_REASON = 300
const MAX_READ = 4096

/** Why something failed, in somebody's own words. */
export function shownReason(text: string): string {
  const shown = shownLine(text.slice(0, MAX_READ))
  return shown.length <= MAX_REASON ? shown : `${shown.slice(0, MAX_REASON - 1)}…`
}

function withoutToken(word: string): string {
  const at = word.search(JWT)
  return at >= 0 && word.includes('.', at) ? word.slice(0, at) + REDACTED : word
}

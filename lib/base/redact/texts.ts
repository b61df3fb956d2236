// Targets and bodies as people see them: without what stands under the name of a credential.

import { unescaped } from '../loose-decoding.ts'
import { GROUP, NO_NAMES, REDACTED, isSecret } from './names.ts'

/** Instead of a text in which there is more to judge than this. */
export const WITHHELD = '<redacted: too many names>'
/** Places in a text where something with a name begins, or is to be hidden. */
export const MAX_PLACES = 100_000
/** Different names with escapes or brackets in them, and letters of a name: what is longer is taken for a secret. */
export const MAX_ODD_NAMES = 10_000
const MAX_NAME_LENGTH = 1024
const ODD = /[%\\[\].]/

/** Where neither this nor an escape occurs, no name is secret. */
const HINT =
  /key|token|secret|pass|pwd|code|assertion|sig|jwt|credential|session|auth|bearer|otp|saml|sid|%|\\u/i

// All patterns here read what anybody may send: from no place do they look further than to where the next could begin.

const USER_INFO = /:\/\/[^/@\s]+@/g
const PARAMETER = /[?&;]([^=&?#;\s]+)=/g
/** Where the value of a parameter ends; in a form it may have anything but this in it. */
const PARAMETER_END = /[&#\s]/g
const FORM_END = /[&\r\n]/g
/** How a form begins. */
const FORM = /^\s{0,16}[^={}"<>\s]{1,1024}=/
/** A member with a text, a list or an object: of JSON, or of JSON that stands as a text in other JSON, where quotes have backslashes. */
const MEMBER = /"([^"]{1,128})"\s*:\s*(?:(\\*)"|[[{])/g
/** What a list or an object is made of, as far as it matters here. */
const MARK = /["[\]{}]/g
const OPENING = new Set(['[', '{'])
const BEHIND_NAME = /\s*:/y
const MAX_NAME = 128
/** How a schema describes a member of that name. */
const DESCRIBING = new Set(['type', 'title', 'description', 'format'])
/** The name of a part of a multipart body, and how far from there its value begins at most. */
const PART = /\bname="([^"]{1,128})"/g
const MAX_PART_HEAD = 1024

/** A value with the name of a credential: no text in it is shown. */
export function withoutTexts(value: unknown): unknown {
  if (typeof value === 'string') return REDACTED
  if (Array.isArray(value)) return value.map(withoutTexts)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, withoutTexts(part)]))
}

/** A URL or path without what may be a credential in it; `names` are parameters that are one for certain. */
export function shownTarget(text: string, names = NO_NAMES): string {
  const shown = text.replace(USER_INFO, `://${REDACTED}@`)
  return orWithheld(() => withoutParameters(shown, PARAMETER_END, names))
}

/** A body without what stands under the name of a credential. What is compressed stays as it is. */
export function shownBody(bytes: Buffer, names = NO_NAMES): Buffer {
  const text = bytes.toString('latin1')
  if (names.size === 0 && !HINT.test(text)) return bytes
  const shown = orWithheld(() => withoutMembers(withoutPairs(text, names), names))
  return shown === text ? bytes : Buffer.from(shown, 'latin1')
}

class TooManyNames extends Error {}

function orWithheld(show: () => string): string {
  try {
    return show()
  } catch (error) {
    if (error instanceof TooManyNames) return WITHHELD
    throw error
  }
}

/** Judges each name in a text once. */
class Judge {
  readonly #rule: (name: string) => boolean
  readonly #known = new Map<string, boolean>()
  #odd = 0

  constructor(rule: (name: string) => boolean) {
    this.#rule = rule
  }

  isSecret(name: string): boolean {
    if (name.length > MAX_NAME_LENGTH) return true
    const known = this.#known.get(name)
    if (known !== undefined) return known
    if (ODD.test(name) && ++this.#odd > MAX_ODD_NAMES) throw new TooManyNames()
    const isSecret = this.#rule(name)
    this.#known.set(name, isSecret)
    return isSecret
  }
}

function withoutPairs(text: string, names: ReadonlySet<string>): string {
  if (text.startsWith('--')) return withoutParts(text, names)
  if (!FORM.test(text)) return text
  return withoutParameters(`&${text}`, FORM_END, names).slice(1)
}

function withoutParameters(text: string, end: RegExp, names: ReadonlySet<string>): string {
  const judge = new Judge((name) => isSecret(name, names))
  return without(text, PARAMETER, ([, name], from) => {
    if (!judge.isSecret(name!)) return null
    end.lastIndex = from
    return one(from, end.exec(text)?.index ?? text.length)
  })
}

function withoutMembers(text: string, names: ReadonlySet<string>): string {
  const judge = new Judge((name) => isSecret(unescaped(name), names))
  const groups = new Judge((name) => GROUP.test(unescaped(name)))
  return without(text, MEMBER, ([, name, slashes], from) => {
    if (slashes === undefined) {
      if (!groups.isSecret(name!)) return null
      return textsOfGroup(text, from, /\\*$/.exec(name!)![0].length)
    }
    if (!judge.isSecret(name!)) return null
    const to = endOfText(text, from, slashes.length)
    // There is nothing to hide.
    return to > from ? one(from, to) : null
  })
}

/** The texts in a list or an object whose opening is behind us: up to its end, or that of the text it stands in. */
function textsOfGroup(text: string, from: number, slashes: number): Found {
  const hidden: [number, number][] = []
  let depth = 1
  let name = ''
  let to = from
  while (depth > 0) {
    MARK.lastIndex = to
    const mark = MARK.exec(text)
    if (mark === null) return { hidden, to: text.length }
    if (hidden.length > MAX_PLACES) throw new TooManyNames()
    to = mark.index + 1
    if (mark[0] !== '"') depth += OPENING.has(mark[0]) ? 1 : -1
    else if (isInOther(text, mark.index, slashes)) return { hidden, to: mark.index }
    else {
      const start = to
      const end = endOfText(text, start, slashes)
      to = Math.min(end + slashes + 1, text.length)
      BEHIND_NAME.lastIndex = to
      if (BEHIND_NAME.test(text)) name = text.slice(start, Math.min(end, start + MAX_NAME))
      else {
        if (end > start && !isDescribing(name, text, start, end)) hidden.push([start, end])
        name = ''
      }
    }
  }
  return { hidden, to }
}

/** A quote with fewer backslashes than ours ends the text that all this stands in. */
function isInOther(text: string, quote: number, slashes: number): boolean {
  return slashes > 0 && !text.endsWith('\\'.repeat(slashes), quote)
}

/** What a schema says about a member; JSON in it might be anything. */
function isDescribing(name: string, text: string, start: number, end: number): boolean {
  return DESCRIBING.has(name) && !text.slice(start, end).includes('\\')
}

function withoutParts(text: string, names: ReadonlySet<string>): string {
  const judge = new Judge((name) => isSecret(name, names))
  return without(text, PART, ([, name], at) => {
    if (!judge.isSecret(name!)) return null
    const head = text.slice(at, at + MAX_PART_HEAD).indexOf('\r\n\r\n')
    if (head < 0) return null
    const from = at + head + 4
    const to = text.indexOf('\r\n--', from)
    return one(from, to < 0 ? text.length : to)
  })
}

/** Which parts of the text to hide, in order, and how far it was read for that. */
interface Found {
  readonly hidden: readonly (readonly [number, number])[]
  readonly to: number
}

/** What to hide behind a place that was found; null for nothing. */
type Find = (found: RegExpExecArray, behind: number) => Found | null

function one(from: number, to: number): Found {
  return { hidden: [[from, to]], to }
}

/** In one pass: what was hidden is not looked at again. */
function without(text: string, places: RegExp, find: Find): string {
  const shown: string[] = []
  let done = 0
  let seen = 0
  places.lastIndex = 0
  for (let place = places.exec(text); place !== null; place = places.exec(text)) {
    if (++seen > MAX_PLACES) throw new TooManyNames()
    const found = find(place, places.lastIndex)
    if (found === null) continue
    for (const [from, to] of found.hidden) {
      shown.push(text.slice(done, from), REDACTED)
      done = to
    }
    places.lastIndex = found.to
  }
  places.lastIndex = 0
  return shown.length === 0 ? text : shown.join('') + text.slice(done)
}

/** Where a text in JSON ends whose quotes have so many backslashes before them; what was cut off ends with all. */
function endOfText(text: string, from: number, slashes: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    let start = at
    while (start > from && text[start - 1] === '\\') start--
    const more = at - start - slashes
    // A backslash in the text is twice as many as make one quote of it.
    if (more <= 0) return start
    if ((more / (slashes + 1)) % 2 === 0) return at - slashes
  }
  return text.length
}

// Targets and bodies as people see them: without what stands under the name of a credential.

/** Instead of a text in which there is more to judge than this. */
export const WITHHELD_TEXT = '<redacted: too many names>'
/** Places in a text where something with a name begins, or is to be hidden. */
export const MAX_REDACTION_MATCHES = 100_000
/** Different names with escapes or brackets in them, and letters of a name: what is longer is taken for a secret. */
export const MAX_ESCAPED_NAMES = 10_000
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
export function redactTexts(value: unknown): unknown {
  if (typeof value === 'string') return REDACTED
  if (Array.isArray(value)) return value.map(redactTexts)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, redactTexts(part)]))
}

/** A URL or path without what may be a credential in it; `names` are parameters that are one for certain. */
export function redactTarget(text: string, names = NO_SECRET_NAMES): string {
  const shown = text.replace(USER_INFO, `://${REDACTED}@`)
  return redactOrWithhold(() => redactParameters(shown, PARAMETER_END, names))
}

/** A body without what stands under the name of a credential. What is compressed stays as it is. */
export function redactBody(bytes: Buffer, names = NO_SECRET_NAMES): Buffer {
  const text = bytes.toString('latin1')
  if (names.size === 0 && !HINT.test(text)) return bytes
  const shown = redactOrWithhold(() => redactMembers(redactFormBody(text, names), names))
  return shown === text ? bytes : Buffer.from(shown, 'latin1')
}

class TooManyNames extends Error {}

function redactOrWithhold(show: () => string): string {
  try {
    return show()
  } catch (error) {
    if (error instanceof TooManyNames) return WITHHELD_TEXT
    throw error
  }
}

/** Judges each name in a text once. */
class SecretNameCache {
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
    if (ODD.test(name) && ++this.#odd > MAX_ESCAPED_NAMES) throw new TooManyNames()
    const isSecret = this.#rule(name)
    this.#known.set(name, isSecret)
    return isSecret
  }
}

function redactFormBody(text: string, names: ReadonlySet<string>): string {
  if (text.startsWith('--')) return redactMultipart(text, names)
  if (!FORM.test(text)) return text
  return redactParameters(`&${text}`, FORM_END, names).slice(1)
}

function redactParameters(text: string, end: RegExp, names: ReadonlySet<string>): string {
  const judge = new SecretNameCache((name) => isSecretName(name, names))
  return redactMatches(text, PARAMETER, ([, name], from) => {
    if (!judge.isSecret(name!)) return null
    end.lastIndex = from
    return singleSpan(from, end.exec(text)?.index ?? text.length)
  })
}

function redactMembers(text: string, names: ReadonlySet<string>): string {
  const judge = new SecretNameCache((name) => isSecretName(unescapeMemberName(name), names))
  const groups = new SecretNameCache((name) => SECRET_GROUP_NAME.test(unescapeMemberName(name)))
  return redactMatches(text, MEMBER, ([, name, slashes], from) => {
    if (slashes === undefined) {
      if (!groups.isSecret(name!)) return null
      return findGroupTexts(text, from, /\\*$/.exec(name!)![0].length)
    }
    if (!judge.isSecret(name!)) return null
    const to = findTextEnd(text, from, slashes.length)
    // There is nothing to hide.
    return to > from ? singleSpan(from, to) : null
  })
}

/** The texts in a list or an object whose opening is behind us: up to its end, or that of the text it stands in. */
function findGroupTexts(text: string, from: number, slashes: number): RedactionSpans {
  const hidden: [number, number][] = []
  let depth = 1
  let name = ''
  let to = from
  while (depth > 0) {
    MARK.lastIndex = to
    const mark = MARK.exec(text)
    if (mark === null) return { hidden, to: text.length }
    if (hidden.length > MAX_REDACTION_MATCHES) throw new TooManyNames()
    to = mark.index + 1
    if (mark[0] !== '"') depth += OPENING.has(mark[0]) ? 1 : -1
    else if (isInOther(text, mark.index, slashes)) return { hidden, to: mark.index }
    else {
      const start = to
      const end = findTextEnd(text, start, slashes)
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

function redactMultipart(text: string, names: ReadonlySet<string>): string {
  const judge = new SecretNameCache((name) => isSecretName(name, names))
  return redactMatches(text, PART, ([, name], at) => {
    if (!judge.isSecret(name!)) return null
    const head = text.slice(at, at + MAX_PART_HEAD).indexOf('\r\n\r\n')
    if (head < 0) return null
    const from = at + head + 4
    const to = text.indexOf('\r\n--', from)
    return singleSpan(from, to < 0 ? text.length : to)
  })
}

/** Which parts of the text to hide, in order, and how far it was read for that. */
interface RedactionSpans {
  readonly hidden: readonly (readonly [number, number])[]
  readonly to: number
}

/** What to hide behind a place that was found; null for nothing. */
type FindRedaction = (found: RegExpExecArray, behind: number) => RedactionSpans | null

function singleSpan(from: number, to: number): RedactionSpans {
  return { hidden: [[from, to]], to }
}

/** In one pass: what was hidden is not looked at again. */
function redactMatches(text: string, places: RegExp, find: FindRedaction): string {
  const shown: string[] = []
  let done = 0
  let seen = 0
  places.lastIndex = 0
  for (let place = places.exec(text); place !== null; place = places.exec(text)) {
    if (++seen > MAX_REDACTION_MATCHES) throw new TooManyNames()
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
function findTextEnd(text: string, from: number, slashes: number): number {
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

// Which names are those of credentials: one list for traces, dumps, logs and pages. The backend and rules still see the
// real values.

export const REDACTED = '<redacted>'

/** Whatever `config.sensitiveHeaders` adds; spec.md §5.8 has the first two. */
const SENSITIVE_HEADERS = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  // Whoever has it can use the session.
  'mcp-session-id',
  'session',
  // Where browsers put a token that they can put nowhere else.
  'sec-websocket-protocol',
]

/** How the name of a credential ends, whatever has it: a header nobody has listed, a setting, a parameter, a member. */
const ENDING =
  'secret|token|passwo?r?d|passphrase|pwd|(?<!allow-)credentials?|signature(?:-256)?|.jwt|[-_]key|(?:api|access|private)key' +
  '|assertion|[-_]authorization|[-_]auth|[-_]pat|[-_]session|session[-_]?id'
/** Of a list or an object: all that is in it is one. */
const SECRET_GROUP = new RegExp(`(?:${ENDING})s?$`, 'i')
const SECRET_GROUP_NAME = new RegExp(`${SECRET_GROUP.source}|authorization$`, 'i')
const SECRET_HEADER = new RegExp(`(?:${ENDING})$`)
/** Of a configuration, where `key` may be a name, and a hash is one of a key. */
const SECRET_SETTING = new RegExp(`(?:${ENDING}|hash)$`)
/** Of what anybody may send, where a name tells less. */
const SECRET = new RegExp(
  `(?:${ENDING}|key|code|code_verifier|sig|jwt|id_token_hint|authorization|bearer|otp|samlresponse|^pass|^auth|^sid)$`,
  'i',
)
/** Names that stand for credentials: of headers in lower case, and of parameters in a query. */
export interface SecretNames {
  readonly headers: ReadonlySet<string>
  readonly parameters: ReadonlySet<string>
}

const NO_SECRET_NAMES: ReadonlySet<string> = new Set()

/** Header names, in lower case, whose values are not shown. */
export function sensitiveHeaderNames(more: readonly string[]): ReadonlySet<string> {
  return new Set([...SENSITIVE_HEADERS, ...more.map((name) => name.toLowerCase())])
}

export function isSecretHeader(name: string, { headers }: Pick<SecretNames, 'headers'>): boolean {
  return headers.has(name) || SECRET_HEADER.test(name)
}

/** Of a field in a configuration, or of a header that is set in one. */
export function isSecretSetting(name: string, { headers }: Pick<SecretNames, 'headers'>): boolean {
  const lower = name.toLowerCase()
  return headers.has(lower) || SECRET_SETTING.test(lower)
}

/** Of a list or an object with that name: whether the texts in it are not shown. */
export function isSecretGroup(name: string): boolean {
  return SECRET_GROUP.test(name)
}

/** Of a parameter, whoever sends or wants it. */
export function isSecretParameter(name: string): boolean {
  return isSecretName(name, NO_SECRET_NAMES)
}

/** However it is written: a reader of queries decodes names, too, and makes lists and objects of `a[b]` and `a.b`. */
function isSecretName(written: string, names: ReadonlySet<string>): boolean {
  const name = decodeParameterName(written)
  if (names.has(name) || SECRET.test(name)) return true
  return /[[\].]/.test(name) && name.split(/[[\].]/).some(isSecretNamePart)
}

function isSecretNamePart(part: string): boolean {
  return SECRET.test(part) || SECRET_GROUP.test(part)
}

// Values and lines as people see them: without what is a credential by how it is written, whatever its name.

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
export function redactValue(text: string, names = NO_SECRET_NAMES): string {
  const scheme = SCHEMED.exec(text)
  if (scheme !== null && !BASICS.test(text)) return scheme[1]! + REDACTED
  return redactTarget(text, names).replace(BEARER, redactBearer).replace(WORD, redactToken)
}

/** Words of people are in lower case: `bearer authentication`. */
function redactBearer(whole: string, scheme: string, word: string): string {
  return /^[a-z]+\.?$/.test(word) ? whole : scheme + REDACTED
}

/** A line that some program printed, without what looks like a credential in it. */
export function redactLine(text: string): string {
  return redactTarget(text)
    .replace(NAMED, `$1${REDACTED}`)
    .replace(SCHEME, `$1 ${REDACTED}`)
    .replace(WORD, redactToken)
    .replace(KEY, REDACTED)
}

/** Letters of a reason that are shown, and those that are read for that. */
export const MAX_REASON_LENGTH = 300
const MAX_READ = 4096

/** Why something failed, in somebody's own words. */
export function redactReason(text: string): string {
  const shown = redactLine(text.slice(0, MAX_READ))
  return shown.length <= MAX_REASON_LENGTH ? shown : `${shown.slice(0, MAX_REASON_LENGTH - 1)}…`
}

function redactToken(word: string): string {
  const at = word.search(JWT)
  return at >= 0 && word.includes('.', at) ? word.slice(0, at) + REDACTED : word
}

// Names as a lenient reader understands them. Nothing here throws: whoever sends a name may send many that are wrong.

const ESCAPED = /(?:%[\da-f]{2})+/gi
const UNICODE = /\\+u([\da-f]{4})/gi

/** The name of a parameter; what is no escape stays as it is. */
export function decodeParameterName(name: string): string {
  const plain = name.includes('+') ? name.replaceAll('+', ' ').trim() : name
  if (!plain.includes('%')) return plain
  return plain.replace(ESCAPED, decodePercentEscapes).trim()
}

function decodePercentEscapes(escapes: string): string {
  return Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('utf8')
}

/** The name of a member, without what is before its closing quote in a text in JSON. */
export function unescapeMemberName(name: string): string {
  if (!name.includes('\\')) return name
  return name.replace(UNICODE, decodeUnicodeEscape).replace(/\\{1,128}$/, '')
}

function decodeUnicodeEscape(_whole: string, code: string): string {
  return String.fromCharCode(Number.parseInt(code, 16))
}

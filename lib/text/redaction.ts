// Removes credentials from targets, bodies, header values and log lines before they are shown. Only what is shown
// changes: the backend and the rules still see the real values.

/** Shown instead of a text that exceeds the limits below. */
export const WITHHELD_TEXT = '<redacted: too many names>'
/** How many names and hidden values of one text are examined. */
export const MAX_REDACTION_MATCHES = 100_000
/** How many different names with escapes or brackets are examined, and how long a name may be: longer is a secret. */
export const MAX_ESCAPED_NAMES = 10_000
const MAX_NAME_LENGTH = 1024
const ODD = /[%\\[\].]/

/** A text with none of these words and no escape has no secret name. */
const HINT =
  /key|token|secret|pass|pwd|code|assertion|sig|jwt|credential|session|auth|bearer|otp|saml|sid|%|\\u/i

// These patterns read untrusted text: no match looks further than where the next match could begin, so none is slow.

const USER_INFO = /:\/\/[^/@\s]+@/g
const PARAMETER = /[?&;]([^=&?#;\s]+)=/g
/** Where the value of a parameter ends in a URL; in a form only `FORM_END` ends it. */
const PARAMETER_END = /[&#\s]/g
const FORM_END = /[&\r\n]/g
/** The start of a form body. */
const FORM = /^\s{0,16}[^={}"<>\s]{1,1024}=/
/** A JSON member with a string, array or object; in JSON that is a string in other JSON, quotes have backslashes. */
const MEMBER = /"([^"]{1,128})"\s*:\s*(?:(\\*)"|[[{])/g
/** The same, or with a number, `true` or `false`. */
const ANY_MEMBER = /"([^"]{1,128})"\s*:\s*(?:(\\*)"|([[{]|-?\d[-+.\deE]*|true|false))/g
/** The bytes that structure an array or an object. */
const MARK = /["[\]{}]/g
const OPENING = new Set(['[', '{'])
const AFTER_NAME = /\s*:/y
const MAX_NAME = 128
/** Members of a JSON schema that describe a member. */
const DESCRIBING = new Set(['type', 'title', 'description', 'format'])
/** The name of a multipart part, and how far after it the value begins at most. */
const PART = /\bname="([^"]{1,128})"/g
const MAX_PART_HEAD = 1024

/** Replaces every string in a value whose name is that of a credential. */
export function redactTexts(value: unknown): unknown {
  if (typeof value === 'string') return REDACTED
  if (Array.isArray(value)) return value.map(redactTexts)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, redactTexts(part)]))
}

/** Removes credentials from a URL or path; `names` are parameters that are always secret. */
export function redactTarget(text: string, names = NO_SECRET_NAMES): string {
  const shown = text.replace(USER_INFO, `://${REDACTED}@`)
  return redactOrWithhold(() =>
    redactParameters(shown, PARAMETER_END, (name) => isSecretName(name, names)),
  )
}

/** Removes the values of names that look like those of secrets from a body of the configuration. */
export function redactBody(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1')
  if (!HINT.test(text)) return bytes
  const isSecret: IsSecretName = (name) => isSecretName(name, NO_SECRET_NAMES)
  const shown = redactOrWithhold(() => redactMembers(redactFormBody(text, isSecret)))
  return shown === text ? bytes : Buffer.from(shown, 'latin1')
}

/** Removes the whole values of these JSON members and form fields from a body; letter case does not matter. */
export function redactBodyMembers(bytes: Buffer, members: readonly string[]): Buffer {
  const text = bytes.toString('latin1')
  const names = new Set(members.map((name) => Buffer.from(name).toString('latin1').toLowerCase()))
  const isListed: IsSecretName = (name) => names.has(decodeParameterName(name).toLowerCase())
  const shown = redactOrWithhold(() =>
    redactListedMembers(redactFormBody(text, isListed), (name) => names.has(name.toLowerCase())),
  )
  return shown === text ? bytes : Buffer.from(shown, 'latin1')
}

type IsSecretName = (name: string) => boolean

class TooManyNames extends Error {}

function redactOrWithhold(show: () => string): string {
  try {
    return show()
  } catch (error) {
    if (error instanceof TooManyNames) return WITHHELD_TEXT
    throw error
  }
}

/** Caches whether a name is secret. */
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

function redactFormBody(text: string, isSecret: IsSecretName): string {
  if (text.startsWith('--')) return redactMultipart(text, isSecret)
  if (!FORM.test(text)) return text
  return redactParameters(`&${text}`, FORM_END, isSecret).slice(1)
}

function redactParameters(text: string, end: RegExp, isSecret: IsSecretName): string {
  const secretNames = new SecretNameCache(isSecret)
  return redactMatches(text, PARAMETER, ([, name], from) => {
    if (!secretNames.isSecret(name!)) return null
    end.lastIndex = from
    return singleSpan(from, end.exec(text)?.index ?? text.length)
  })
}

function redactMembers(text: string): string {
  const secretNames = new SecretNameCache((name) =>
    isSecretName(unescapeMemberName(name), NO_SECRET_NAMES),
  )
  const groups = new SecretNameCache((name) => SECRET_GROUP_NAME.test(unescapeMemberName(name)))
  return redactMatches(text, MEMBER, ([, name, slashes], from) => {
    if (slashes === undefined) {
      if (!groups.isSecret(name!)) return null
      return findGroupTexts(text, from, /\\*$/.exec(name!)![0].length)
    }
    if (!secretNames.isSecret(name!)) return null
    const to = findTextEnd(text, from, slashes.length)
    return to > from ? singleSpan(from, to) : null
  })
}

/** Replaces the values of listed members: a number, an array or an object, too, becomes a string. */
function redactListedMembers(text: string, isListed: IsSecretName): string {
  const listed = new SecretNameCache((name) => isListed(unescapeMemberName(name)))
  return redactMatches(text, ANY_MEMBER, ([, name, slashes, value = ''], from) => {
    if (!listed.isSecret(name!)) return null
    if (slashes !== undefined) {
      const to = findTextEnd(text, from, slashes.length)
      return to > from ? singleSpan(from, to) : null
    }
    const escapes = /\\*$/.exec(name!)![0]
    const to = OPENING.has(value) ? findGroupTexts(text, from, escapes.length).to : from
    const shown = `${escapes}"${REDACTED}${escapes}"`
    return { hidden: [[from - value.length, to]], to, shown }
  })
}

/** Finds the strings in an array or object up to its end, or up to the end of the string that contains it. */
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
    else if (endsOuterString(text, mark.index, slashes)) return { hidden, to: mark.index }
    else {
      const start = to
      const end = findTextEnd(text, start, slashes)
      to = Math.min(end + slashes + 1, text.length)
      AFTER_NAME.lastIndex = to
      if (AFTER_NAME.test(text)) name = text.slice(start, Math.min(end, start + MAX_NAME))
      else {
        if (end > start && !isSchemaText(name, text, start, end)) hidden.push([start, end])
        name = ''
      }
    }
  }
  return { hidden, to }
}

/** A quote with fewer backslashes than ours ends the string that contains this JSON. */
function endsOuterString(text: string, quote: number, slashes: number): boolean {
  return slashes > 0 && !text.endsWith('\\'.repeat(slashes), quote)
}

/** A text of a JSON schema is shown, unless it has escapes: nested JSON could hold anything. */
function isSchemaText(name: string, text: string, start: number, end: number): boolean {
  return DESCRIBING.has(name) && !text.slice(start, end).includes('\\')
}

function redactMultipart(text: string, isSecret: IsSecretName): string {
  const secretNames = new SecretNameCache(isSecret)
  return redactMatches(text, PART, ([, name], at) => {
    if (!secretNames.isSecret(name!)) return null
    const head = text.slice(at, at + MAX_PART_HEAD).indexOf('\r\n\r\n')
    if (head < 0) return null
    const from = at + head + 4
    const to = text.indexOf('\r\n--', from)
    return singleSpan(from, to < 0 ? text.length : to)
  })
}

/** The ranges to hide, in order, and where the search continues. */
interface RedactionSpans {
  readonly hidden: readonly (readonly [number, number])[]
  readonly to: number
  /** Shown instead of each range; `<redacted>` if absent. */
  readonly shown?: string
}

/** The ranges to hide after a match; null for none. */
type FindRedaction = (match: RegExpExecArray, afterMatch: number) => RedactionSpans | null

function singleSpan(from: number, to: number): RedactionSpans {
  return { hidden: [[from, to]], to }
}

/** Hides ranges in one pass: hidden text is not searched again. */
function redactMatches(text: string, pattern: RegExp, find: FindRedaction): string {
  const shown: string[] = []
  let shownTo = 0
  let matches = 0
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    if (++matches > MAX_REDACTION_MATCHES) throw new TooManyNames()
    const found = find(match, pattern.lastIndex)
    if (found === null) continue
    for (const [from, to] of found.hidden) {
      shown.push(text.slice(shownTo, from), found.shown ?? REDACTED)
      shownTo = to
    }
    pattern.lastIndex = found.to
  }
  pattern.lastIndex = 0
  return shown.length === 0 ? text : shown.join('') + text.slice(shownTo)
}

/** The end of a JSON string whose quotes have `slashes` backslashes; a truncated string ends with the text. */
function findTextEnd(text: string, from: number, slashes: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    let start = at
    while (start > from && text[start - 1] === '\\') start--
    const more = at - start - slashes
    // One backslash in the string takes twice the characters that one quote takes.
    if (more <= 0) return start
    if ((more / (slashes + 1)) % 2 === 0) return at - slashes
  }
  return text.length
}

export const REDACTED = '<redacted>'

/** Always sensitive; `config.sensitiveHeaders` adds others. The first two are those of spec.md §5.8. */
const SENSITIVE_HEADERS = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  // With this id, another client can use the session.
  'mcp-session-id',
  'session',
  // Browsers have no other place for a token in a WebSocket handshake.
  'sec-websocket-protocol',
]

/** How names of credentials end: of unlisted headers, settings, parameters and members. */
const ENDING =
  'secret|token|passwo?r?d|passphrase|pwd|(?<!allow-)credentials?|signature(?:-256)?|.jwt|[-_]key|(?:api|access|private)key' +
  '|assertion|[-_]authorization|[-_]auth|[-_]pat|[-_]session|session[-_]?id'
/** Names of arrays and objects whose strings are all secret. */
const SECRET_GROUP = new RegExp(`(?:${ENDING})s?$`, 'i')
const SECRET_GROUP_NAME = new RegExp(`${SECRET_GROUP.source}|authorization$`, 'i')
const SECRET_HEADER = new RegExp(`(?:${ENDING})$`)
/** In a configuration, `key` may be an ordinary name, and a hash is that of a key. */
const SECRET_SETTING = new RegExp(`(?:${ENDING}|hash)$`)
/** In untrusted text, where a name says less about its value. */
const SECRET = new RegExp(
  `(?:${ENDING}|key|code|code_verifier|sig|jwt|id_token_hint|authorization|bearer|otp|samlresponse|^pass|^auth|^sid)$`,
  'i',
)
/** Names of credentials: of headers in lower case, and of query parameters. */
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

/**
 * Header values by name for a trace: a secret header becomes `<redacted>`, and `redactOther` redacts other values. A name
 * that occurs several times has a list.
 */
export function redactHeaders(
  fields: Iterable<readonly [name: string, value: string]>,
  names: Pick<SecretNames, 'headers'>,
  redactOther: (value: string, name: string) => string,
): Record<string, string | readonly string[]> {
  const redacted = new Map<string, string[]>()
  for (const [name, value] of fields) {
    const values = redacted.get(name) ?? []
    values.push(isSecretHeader(name, names) ? REDACTED : redactOther(value, name))
    redacted.set(name, values)
  }
  return Object.fromEntries(
    [...redacted].map(([name, values]) => [name, values.length === 1 ? values[0]! : values]),
  )
}

/** For a field of the configuration, or a header that it sets. */
export function isSecretSetting(name: string, { headers }: Pick<SecretNames, 'headers'>): boolean {
  const lower = name.toLowerCase()
  return headers.has(lower) || SECRET_SETTING.test(lower)
}

/** For an array or object of that name: whether its strings are secret. */
export function isSecretGroup(name: string): boolean {
  return SECRET_GROUP.test(name)
}

export function isSecretParameter(name: string): boolean {
  return isSecretName(name, NO_SECRET_NAMES)
}

/** Readers of queries decode names, and make arrays and objects of `a[b]` and `a.b`: so does this. */
function isSecretName(written: string, names: ReadonlySet<string>): boolean {
  const name = decodeParameterName(written)
  if (names.has(name) || SECRET.test(name)) return true
  return /[[\].]/.test(name) && name.split(/[[\].]/).some(isSecretNamePart)
}

function isSecretNamePart(part: string): boolean {
  return SECRET.test(part) || SECRET_GROUP.test(part)
}

/** Credentials by form: after a credential's name, after a scheme, or a text that looks like a token. */
const NAMED =
  /((?:authorization|api[_-]?key|access[_-]?key|token|secret|passwo?r?d|pwd|cookie)["']?\s*[:=]\s*["']?)(?!<)(?:(?:bearer|basic)\s+)?[^\s"',;]+/gi
const SCHEME = /\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi
const WORD = /[\w.-]{12,}/g
const JWT = /\beyJ[\w-]{8}/
const KEY = /\bsk-[\w-]{16,}/g

/** A header value that starts with a credential; in a challenge, a parameter name follows the scheme instead. */
const SCHEMED = /^(\s{0,16}(?:bearer|basic|negotiate)\s{1,16})(?![\w-]{1,64}\s?=\s?["\w])\S/i
/** Plain words such as `Basic plan`: an encoded credential has other letters, too. */
const BASICS = /^Basic [a-z ]{1,80}$/
const BEARER = /\b(bearer\s{1,16})(?![\w-]{1,64}\s?=\s?["\w])([\w.~+/=-]{8,})/gi

/** Removes what looks like a credential from a header value or a setting. */
export function redactValue(text: string, names = NO_SECRET_NAMES): string {
  const scheme = SCHEMED.exec(text)
  if (scheme !== null && !BASICS.test(text)) return scheme[1]! + REDACTED
  return redactTarget(text, names).replace(BEARER, redactBearer).replace(WORD, redactToken)
}

/** Plain words are in lower case: `bearer authentication`. */
function redactBearer(whole: string, scheme: string, word: string): string {
  return /^[a-z]+\.?$/.test(word) ? whole : scheme + REDACTED
}

/** The scheme before a credential in a header. */
const CREDENTIAL_SCHEME = /^\s*(?:bearer|basic|token|apikey|key)\s+/i

/** Returns the credential in the value of a header, without its scheme. */
export function removeScheme(value: string): string {
  return value.replace(CREDENTIAL_SCHEME, '').trim()
}

/** Removes what looks like a credential from a line that a program printed. */
export function redactLine(text: string): string {
  return redactTarget(text)
    .replace(NAMED, `$1${REDACTED}`)
    .replace(SCHEME, `$1 ${REDACTED}`)
    .replace(WORD, redactToken)
    .replace(KEY, REDACTED)
}

/** The length of a reason that is shown, and of the text that is read for it. */
export const MAX_REASON_LENGTH = 300
const MAX_READ = 4096

/** Removes credentials from the text of a failure, and shortens it. */
export function redactReason(text: string): string {
  const shown = redactLine(text.slice(0, MAX_READ))
  return shown.length <= MAX_REASON_LENGTH ? shown : `${shown.slice(0, MAX_REASON_LENGTH - 1)}…`
}

function redactToken(word: string): string {
  const at = word.search(JWT)
  return at >= 0 && word.includes('.', at) ? word.slice(0, at) + REDACTED : word
}

// The functions below read names as lenient parsers do. They never throw, since clients may send many invalid names.

const ESCAPED = /(?:%[\da-f]{2})+/gi
const UNICODE = /\\+u([\da-f]{4})/gi

/** Decodes a parameter name; invalid escapes stay as they are. */
export function decodeParameterName(name: string): string {
  const plain = name.includes('+') ? name.replaceAll('+', ' ').trim() : name
  if (!plain.includes('%')) return plain
  return plain.replace(ESCAPED, decodePercentEscapes).trim()
}

function decodePercentEscapes(escapes: string): string {
  return Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('utf8')
}

/** Decodes a member name, without the backslashes before its closing quote in nested JSON. */
export function unescapeMemberName(name: string): string {
  if (!name.includes('\\')) return name
  return name.replace(UNICODE, decodeUnicodeEscape).replace(/\\{1,128}$/, '')
}

function decodeUnicodeEscape(_whole: string, code: string): string {
  return String.fromCharCode(Number.parseInt(code, 16))
}

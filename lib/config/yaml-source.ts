// A YAML document of the configuration: its data with variables expanded, and the source position of each part.

import { isAlias, isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from 'yaml'
import type { Document, ErrorCode, Node, Pair, Scalar, YAMLError } from 'yaml'
import { ConfigProblems, formatConfigPath } from './config-error.ts'
import type { ConfigPath, ConfigProblem } from './config-error.ts'

/** Bounds alias expansion, so that a few lines cannot expand to unlimited data. */
const MAX_ALIASES = 100

/** Data that all documents of one file share. */
interface DocumentText {
  readonly file: string
  readonly mask: VariableMask
  readonly lines: LineCounter
  readonly env: EnvironmentVariables
}

type ReportFailure = (node: unknown, path: ConfigPath, message: string) => void

/** Parses the non-empty documents of a file. Throws on invalid YAML and on unset variables. */
export function parseSources(
  text: string,
  file: string,
  env: EnvironmentVariables,
): ConfigSource[] {
  const shared: DocumentText = {
    file,
    mask: new VariableMask(text),
    lines: new LineCounter(),
    env,
  }
  const documents = parseAllDocuments(shared.mask.mask(text), {
    merge: true,
    prettyErrors: false,
    lineCounter: shared.lines,
  })
  const problems = new ConfigProblems()
  for (const document of documents)
    for (const error of relevantYamlErrorsOf(document))
      problems.add({
        file,
        ...positionOf(shared, error.pos[0]),
        path: '',
        message: `invalid YAML: ${describeYamlError(error)}`,
      })
  problems.throwIfAny()
  const sources = documents
    .filter(({ contents }) => contents !== null && !isEmptyNode(contents))
    .map((document) => new ConfigSource(document, shared, problems))
  problems.throwIfAny()
  for (const source of sources) source.load(problems)
  problems.throwIfAny()
  return sources
}

export class ConfigSource {
  readonly file: string
  readonly #document: Document
  readonly #text: DocumentText
  #data: unknown = null
  /** The written text of each scalar that contains variables. */
  readonly #references = new Map<unknown, string>()

  /** Expands the variables of the document and reports those that cannot be expanded. */
  constructor(document: Document, text: DocumentText, problems: ConfigProblems) {
    this.file = text.file
    this.#document = document
    this.#text = text
    this.#expand(document.contents, [], (node, path, message) =>
      problems.add(this.#problem(nodeStartOf(node, 0), path, message)),
    )
  }

  /** The document as plain data. */
  get data(): unknown {
    return this.#data
  }

  /** Builds the data; call it only if there were no problems. */
  load(problems: ConfigProblems): void {
    try {
      this.#data = this.#document.toJS({ maxAliasCount: MAX_ALIASES })
    } catch {
      const message = `too many aliases, expected them to expand to at most ${MAX_ALIASES} parts`
      problems.add(this.#problem(0, [], message))
    }
  }

  /** A problem at the position of the value at `path`, or of its key. It does not quote the value of a variable. */
  problemAt(path: ConfigPath, message: string, part: 'key' | 'value' = 'value'): ConfigProblem {
    const { offset, node } = this.#find(path, part)
    const written = this.#references.get(node)
    const shown = written === undefined ? message : hideValue(message, written, node)
    return this.#problem(offset, path, shown)
  }

  #problem(offset: number, path: ConfigPath, message: string): ConfigProblem {
    return {
      file: this.file,
      ...positionOf(this.#text, offset),
      path: formatConfigPath(path),
      message,
    }
  }

  /** Expands the scalars in place, and refuses nodes that cannot become plain data. */
  #expand(node: unknown, path: ConfigPath, fail: ReportFailure): void {
    if (isSeq(node)) node.items.forEach((item, index) => this.#expand(item, [...path, index], fail))
    else if (isMap(node))
      for (const pair of node.items)
        this.#expand(pair.value, [...path, this.#key(pair, path, fail)], fail)
    else if (isAlias(node)) {
      if (node.resolve(this.#document) !== undefined) return
      // The message omits the name, because it may be a secret that was not quoted.
      fail(node, path, 'unknown alias, expected an anchor above (quote text that begins with *)')
    } else if (isScalar(node) && typeof node.value === 'string') {
      const { mask, env } = this.#text
      const written = mask.unmask(node.value)
      const text = expandVariables(written, env, (message) => fail(node, path, message))
      if (/\$\{/.test(written)) this.#references.set(node, written)
      if (text !== node.value)
        node.value = isPlainScalar(node) ? typedScalar(text, this.#document) : text
    }
  }

  /** The name of a key; variables in keys are not expanded. */
  #key(pair: Pair, path: ConfigPath, fail: ReportFailure): string {
    const { key } = pair
    // A YAML tag can turn a scalar key into bytes.
    if (!isScalar(key) || (typeof key.value === 'object' && key.value !== null)) {
      fail(key, path, 'got a key that is not text, expected a name')
      return ''
    }
    if (typeof key.value === 'string') key.value = this.#text.mask.unmask(key.value)
    return keyNameOf(pair)
  }

  /** The deepest part of `path` that exists, and its offset. */
  #find(path: ConfigPath, part: 'key' | 'value'): { node: unknown; offset: number } {
    let node: unknown = this.#document.contents
    let offset = nodeStartOf(node, 0)
    for (const [index, key] of path.entries()) {
      const found = this.#step(node, key)
      if (found === undefined) break
      node = found.value
      const wanted = part === 'key' && index === path.length - 1 ? found.key : node
      offset = nodeStartOf(wanted, nodeStartOf(found.key, offset))
    }
    return { node: isAlias(node) ? node.resolve(this.#document) : node, offset }
  }

  /** Follows one key or index, through aliases and merge keys. */
  #step(from: unknown, key: string | number): { key: unknown; value: unknown } | undefined {
    const node = isAlias(from) ? from.resolve(this.#document) : from
    if (isSeq(node)) return { key: null, value: node.items[Number(key)] }
    if (!isMap(node)) return undefined
    const pair = node.items.find((item) => keyNameOf(item) === String(key))
    if (pair !== undefined) return pair
    for (const item of node.items) {
      if (keyNameOf(item) !== '<<') continue
      for (const merged of isSeq(item.value) ? item.value.items : [item.value]) {
        const found = this.#step(merged, key)
        if (found !== undefined) return found
      }
    }
    return undefined
  }
}

/** What a problem got, up to what it expected. */
const GOT = /\bgot .*(?=, expected\b)/s
/** A shorter value may also be a word of the message. */
const MIN_HIDDEN_LENGTH = 4

/** Replaces the value of a scalar with variables by what is written in the file, such as `${KEY}`. */
function hideValue(message: string, written: string, node: unknown): string {
  // A default is an expected value, not part of the name.
  const name = written.replace(/(\$\{\w+):-[^}]*\}/g, '$1}')
  const shown = `the value of ${name}`
  if (GOT.test(message)) return message.replace(GOT, () => `got ${shown}`)
  const value = String(isScalar(node) ? node.value : '')
  if (value.length < MIN_HIDDEN_LENGTH) return message
  return message.replaceAll(`'${value}'`, () => shown).replaceAll(value, () => shown)
}

/** Whether a document is empty or contains only comments. */
function isEmptyNode(node: unknown): boolean {
  return isScalar(node) && node.value === null && node.source === ''
}

function positionOf({ lines }: DocumentText, offset: number): { line: number; column: number } {
  const { line, col } = lines.linePos(offset)
  // The library has no line starts for a text without a line break.
  return line === 0 ? { line: 1, column: offset + 1 } : { line, column: col }
}

/** An expanded value without quotes gets the type that it would have if it were written in the file. */
function typedScalar(text: string, document: Document): unknown {
  for (const tag of document.schema.tags) {
    if (tag.default !== true || tag.collection !== undefined || !tag.test?.test(text)) continue
    const value: unknown = tag.resolve(text, () => {}, document.options)
    return isScalar(value) ? value.value : value
  }
  return text
}

function isPlainScalar(node: Scalar): boolean {
  return node.type === 'PLAIN' && node.tag === undefined
}

function keyNameOf(pair: Pair): string {
  const value = isScalar(pair.key) ? pair.key.value : ''
  // The library marks a merge key with a symbol.
  return typeof value === 'symbol' ? (value.description ?? '') : String(value)
}

function nodeStartOf(node: unknown, otherwise: number): number {
  const range = (node as Node | null | undefined)?.range
  return range ? range[0] : otherwise
}

// Variables are expanded in parsed scalars, so a value can never add YAML structure. To let YAML parse
// `[${A}, ${B}]`, each reference is masked with private-use characters before parsing.

/** References that YAML could misread. One with quotes or backslashes is left to the rules of YAML. */
const MASKED = /\$\$|\$\{[A-Za-z_]\w*(?::-[^}\n'"\\]*)?\}/g

const REFERENCE = /\$(?:\$|\{([^}]*)(\}?))/g
const NAME_AND_DEFAULT = /^([A-Za-z_]\w*)(?::-(.*))?$/s

/** Replaces ASCII characters of references by a block of 128 private-use characters that the text does not contain. */
export class VariableMask {
  readonly #base: number
  readonly #letters: RegExp

  constructor(text: string) {
    let base = 0xe000
    while (base < 0xf800 && lettersFrom(base).test(text)) base += 128
    this.#base = base
    this.#letters = lettersFrom(base)
  }

  /** The text with every reference masked; its length does not change. */
  mask(text: string): string {
    return text.replace(MASKED, (found) =>
      found === '$$'
        ? found
        : found.replace(/[\0-\x7f]/g, (letter) => this.#shift(letter, this.#base)),
    )
  }

  unmask(text: string): string {
    return text.replace(this.#letters, (letter) => this.#shift(letter, -this.#base))
  }

  #shift(letter: string, offset: number): string {
    return String.fromCharCode(letter.charCodeAt(0) + offset)
  }
}

function lettersFrom(base: number): RegExp {
  const [from, to] = [base, base + 127].map((code) => `\\u${code.toString(16)}`)
  return new RegExp(`[${from}-${to}]`, 'g')
}

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>

/** Expands every reference once; `fail` is called for each reference that cannot be expanded. */
export function expandVariables(
  text: string,
  env: EnvironmentVariables,
  fail: (message: string) => void,
): string {
  return text.replace(REFERENCE, (found, inside: string | undefined, end: string | undefined) => {
    if (inside === undefined) return '$'
    const parts = end === '}' ? NAME_AND_DEFAULT.exec(inside) : null
    if (parts === null) {
      fail(
        'malformed variable reference, expected ${NAME} or ${NAME:-default}; write $$ for a plain $',
      )
      return found
    }
    const [, name = '', fallback] = parts
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (value !== undefined && (value !== '' || fallback === undefined)) return value
    if (fallback === undefined) fail(`environment variable not found: ${name}`)
    return fallback ?? found
  })
}

/** Texts for errors of the YAML parser: its own messages quote the file, which may contain secrets. */
const YAML_ERRORS: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'an alias with an anchor or a tag of its own',
  BAD_ALIAS: 'an alias without a proper name (quote text that begins with *)',
  BAD_COLLECTION_TYPE: 'a list or an object with a tag of another kind',
  BAD_DIRECTIVE: 'a directive (%) that is not known or not complete',
  BAD_DQ_ESCAPE: 'an escape that double quotes do not know (use single quotes for a plain \\)',
  BAD_INDENT: 'wrong indentation, or a bracket before it that is not closed',
  BAD_PROP_ORDER: 'an anchor or a tag in the wrong place',
  BAD_SCALAR_START: 'text that begins with a reserved character (quote it)',
  BLOCK_AS_IMPLICIT_KEY: 'an object or a list where only a value is allowed (quote text with `: `)',
  BLOCK_IN_FLOW: 'a list or an object by indentation inside brackets',
  DUPLICATE_KEY: 'a second key of the same name in one object',
  IMPOSSIBLE: 'unreadable content',
  KEY_OVER_1024_CHARS: 'a key of more than 1024 characters',
  MISSING_CHAR: 'a comma, colon, dash, line break or closing bracket is missing here or before it',
  MULTILINE_IMPLICIT_KEY: 'a key over several lines, or a line without its colon',
  MULTIPLE_ANCHORS: 'two anchors of one value (quote text that begins with &)',
  MULTIPLE_DOCS: 'another document',
  MULTIPLE_TAGS: 'two tags of one value (quote text that begins with !)',
  NON_STRING_KEY: 'a key that is not text',
  RESOURCE_EXHAUSTION: 'nesting that is too deep',
  TAB_AS_INDENT: 'a tab, expected spaces',
  TAG_RESOLVE_FAILED: 'a tag that is not known (quote text that begins with !)',
  UNEXPECTED_TOKEN: 'unexpected content',
}

/** Texts by the token names of the parser. */
const TOKENS: Readonly<Record<string, string>> = {
  'flow-map-start': "unexpected '{'",
  'flow-map-end': "unexpected '}'",
  'flow-seq-start': "unexpected '['",
  'flow-seq-end': "unexpected ']'",
  'seq-item-ind': "unexpected '-'",
  'map-value-ind': "unexpected ':'",
  'explicit-key-ind': "unexpected '?'",
  comma: "unexpected ','",
  scalar: 'unexpected text',
  'single-quoted-scalar': 'unexpected text in quotes',
  'double-quoted-scalar': 'unexpected text in quotes',
}

/** Only the first syntax error of a document is reported, because the others usually follow from it. */
function relevantYamlErrorsOf({ errors, warnings }: Document.Parsed): readonly YAMLError[] {
  const [first] = errors.filter(({ code }) => code !== 'DUPLICATE_KEY')
  return first === undefined ? [...errors, ...warnings] : [first]
}

function describeYamlError({ code, message }: YAMLError): string {
  if (code === 'UNEXPECTED_TOKEN') {
    const [, token = ''] = /^Unexpected ([a-z-]+)\b/.exec(message) ?? []
    return TOKENS[token] ?? YAML_ERRORS[code]
  }
  if (code === 'MISSING_CHAR' && /^Missing closing .quote$/.test(message))
    return 'a quote before it that is not closed'
  return YAML_ERRORS[code]
}

// A YAML document of the configuration: its data with variables expanded, and the position of each part in the file.

import { isAlias, isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from 'yaml'
import type { Alias, Document, ErrorCode, Node, Pair, Scalar, YAMLError, YAMLMap } from 'yaml'
import { ConfigProblems, formatConfigPath } from './config-error.ts'
import type { ConfigPath, ConfigProblem } from './config-error.ts'
import { ExpandedText, expandVariables } from './expand-variables.ts'
import type { EnvironmentVariables, ExpansionFailure } from './expand-variables.ts'

/** Bounds alias expansion, so that a few lines cannot expand to unlimited data. */
const MAX_ALIASES = 100

/** Aliases of one document: the parser may search the whole document for each of them. */
const MAX_DOCUMENT_ALIASES = 1_000

/** Merge keys that follow each other: the parser merges a map again for each map that merges it, and refuses 7 after a long time. */
const MAX_MERGE_CHAIN = 6

/** Data that all documents of one file share. */
interface DocumentText {
  readonly file: string
  readonly expanded: ExpandedText
  /** Lines of the file as written. */
  readonly lines: LineCounter
  readonly env: EnvironmentVariables
  /** References outside quotes that cannot be expanded and that no document has reported yet. */
  readonly failures: Set<ExpansionFailure>
}

type ReportFailure = (node: unknown, path: ConfigPath, message: string) => void

/** Parses the non-empty documents of a file. Throws on invalid YAML and on unset variables. */
export function parseSources(
  text: string,
  file: string,
  env: EnvironmentVariables,
): ConfigSource[] {
  const expanded = new ExpandedText(text, env)
  const failures = new Set(expanded.failures)
  const shared: DocumentText = { file, expanded, lines: countLines(text), env, failures }
  const documents = parseAllDocuments(expanded.text, { merge: true, prettyErrors: false })
  const problems = new ConfigProblems()
  const report = (offset: number, message: string): void =>
    problems.add({ file, ...positionOf(shared, offset), path: '', message })
  const errors = documents.flatMap(relevantYamlErrorsOf)
  // A variable that is not set may be the cause of an error, so it is named first.
  if (errors.length > 0) for (const { at, message } of failures) report(at, message)
  for (const error of errors) report(error.pos[0], `invalid YAML: ${describeYamlError(error)}`)
  problems.throwIfAny()
  const sources = documents
    .filter(({ contents }) => contents !== null && !isEmptyNode(contents))
    .map((document) => new ConfigSource(document, shared, problems))
  for (const { at, message } of failures) report(at, message)
  problems.throwIfAny()
  for (const source of sources) source.load(problems)
  problems.throwIfAny()
  return sources
}

/** A part of the document; `key` is null if the path does not lead to a member. */
interface FoundPart {
  readonly node: unknown
  readonly key: unknown
  readonly offset: number
}

export class ConfigSource {
  readonly file: string
  readonly #document: Document
  readonly #text: DocumentText
  #data: unknown = null
  /** Nodes by anchor, as far as the document is expanded; a later anchor replaces one of the same name. */
  readonly #anchors = new Map<string, Node>()
  /** The nodes of aliases: the parser would search the whole document for each of them. */
  readonly #aliased = new Map<Alias, Node>()
  /** The length of the chain of merge keys that ends in a map. */
  readonly #chains = new Map<unknown, number>()
  /** The written text of each scalar in quotes or a block that contains variables. */
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
    const { offset, node, key } = this.#find(path, part)
    const shown = this.#hideValueOf(node, this.#hideValueOf(key, message))
    const writtenKey = this.#findReference(key)
    const shownPath = writtenKey === undefined ? path : [...path.slice(0, -1), writtenKey]
    return this.#problem(offset, shownPath, shown)
  }

  #hideValueOf(node: unknown, message: string): string {
    const written = this.#findReference(node)
    return written === undefined ? message : hideValue(message, written, node)
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
    this.#recordAnchor(node)
    if (isSeq(node)) node.items.forEach((item, index) => this.#expand(item, [...path, index], fail))
    else if (isMap(node)) this.#expandMap(node, path, fail)
    else if (isAlias(node)) {
      const found = this.#anchors.get(node.source)
      if (found !== undefined) {
        if (this.#aliased.size === MAX_DOCUMENT_ALIASES)
          fail(node, path, `too many aliases, expected at most ${MAX_DOCUMENT_ALIASES}`)
        this.#aliased.set(node, found)
        return
      }
      // The message omits the name, because it may be a secret that was not quoted.
      fail(node, path, 'unknown alias, expected an anchor above (quote text that begins with *)')
    } else if (isScalar(node)) this.#expandScalar(node, path, fail)
  }

  #recordAnchor(node: unknown): void {
    if ((isSeq(node) || isMap(node) || isScalar(node)) && node.anchor !== undefined)
      this.#anchors.set(node.anchor, node)
  }

  /** Refuses a long chain of merge keys once, at its first map that is too far from the start. */
  #checkMergeChain(
    map: YAMLMap,
    { key, value }: Pair,
    path: ConfigPath,
    fail: ReportFailure,
  ): void {
    const source = this.#resolveAlias(value)
    const merged = isSeq(source) ? source.items.map((item) => this.#resolveAlias(item)) : [source]
    const longest = Math.max(0, ...merged.map((one) => this.#chains.get(one) ?? 0))
    this.#chains.set(map, Math.max(this.#chains.get(map) ?? 0, longest + 1))
    if (longest === MAX_MERGE_CHAIN)
      fail(key, path, `too long a chain of merge keys, expected at most ${MAX_MERGE_CHAIN}`)
  }

  #resolveAlias(node: unknown): unknown {
    return isAlias(node) ? this.#aliased.get(node) : node
  }

  #expandMap(map: YAMLMap, path: ConfigPath, fail: ReportFailure): void {
    const names = new Set<string>()
    for (const pair of map.items) {
      const name = this.#key(pair, path, fail)
      // The parser refuses equal keys, but not keys in quotes that become equal when they are expanded.
      if (names.has(name) && name !== '<<')
        fail(pair.key, path, `invalid YAML: ${YAML_ERRORS.DUPLICATE_KEY}`)
      names.add(name)
      this.#expand(pair.value, [...path, name], fail)
      if (name === '<<') this.#checkMergeChain(map, pair, path, fail)
    }
  }

  /** Expands the references in quotes and block scalars, and reports those outside that could not be expanded. */
  #expandScalar(node: Scalar, path: ConfigPath, fail: ReportFailure): void {
    if (typeof node.value !== 'string') return
    const { expanded, env, failures } = this.#text
    for (const failure of failures) {
      if (!node.range || failure.at < node.range[0] || failure.at >= node.range[1]) continue
      failures.delete(failure)
      fail(node, path, failure.message)
    }
    const text = expanded.mask.unmask(node.value)
    if (node.type !== 'PLAIN' && text.includes('${')) this.#references.set(node, text)
    node.value = expanded.mask.unmaskDollars(
      node.type === 'PLAIN'
        ? text
        : expandVariables(text, env, (message) => fail(node, path, message)),
    )
  }

  /** The name of a key. */
  #key(pair: Pair, path: ConfigPath, fail: ReportFailure): string {
    const { key } = pair
    // A YAML tag can turn a scalar key into bytes.
    if (!isScalar(key) || (typeof key.value === 'object' && key.value !== null)) {
      fail(key, path, 'got a key that is not text, expected a name')
      return ''
    }
    this.#recordAnchor(key)
    this.#expandScalar(key, path, fail)
    return keyNameOf(pair)
  }

  /** The written text of a scalar that consists of the value of a variable, or contains one. */
  #findReference(node: unknown): string | undefined {
    const inQuotes = this.#references.get(node)
    if (inQuotes !== undefined || !isScalar(node) || !node.range) return inQuotes
    return this.#text.expanded.findReference(node.range[0], node.range[1])
  }

  /** The deepest part of `path` that exists, and its offset. */
  #find(path: ConfigPath, part: 'key' | 'value'): FoundPart {
    let node: unknown = this.#document.contents
    let key: unknown = null
    let offset = nodeStartOf(node, 0)
    for (const [index, name] of path.entries()) {
      const found = this.#step(node, name)
      if (found === undefined) break
      node = found.value
      key = index === path.length - 1 ? found.key : null
      const wanted = part === 'key' && index === path.length - 1 ? found.key : node
      offset = nodeStartOf(wanted, nodeStartOf(found.key, offset))
    }
    return { node: this.#resolveAlias(node), key, offset }
  }

  /** Follows one key or index, through aliases and merge keys. */
  #step(from: unknown, key: string | number): { key: unknown; value: unknown } | undefined {
    const node = this.#resolveAlias(from)
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

function countLines(text: string): LineCounter {
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1))
    lines.addNewLine(at + 1)
  return lines
}

/** The position in the file of an offset in the expanded text. */
function positionOf(
  { lines, expanded }: DocumentText,
  offset: number,
): { line: number; column: number } {
  const { line, col } = lines.linePos(expanded.originalOffsetOf(offset))
  return { line, column: col }
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

/** Texts for errors of the YAML parser: its own messages quote the file, which may contain secrets. */
const YAML_ERRORS: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'an alias with an anchor or a tag of its own',
  BAD_ALIAS: 'an alias without a proper name (quote text that begins with *)',
  BAD_COLLECTION_TYPE: 'a list or an object with a tag of another kind',
  BAD_DIRECTIVE: 'a directive (%) that is not known or not complete',
  BAD_DQ_ESCAPE: 'an escape that double quotes do not know (use single quotes for a plain \\)',
  BAD_INDENT: 'wrong indentation, or an unclosed bracket before this place',
  BAD_PROP_ORDER: 'an anchor or a tag in the wrong place',
  BAD_SCALAR_START: 'text that begins with a reserved character (quote it)',
  BLOCK_AS_IMPLICIT_KEY: 'an object or a list where only a value is allowed (quote text with `: `)',
  BLOCK_IN_FLOW: 'a list or an object by indentation inside brackets',
  DUPLICATE_KEY: 'a second key of the same name in one object',
  IMPOSSIBLE: 'unreadable content',
  KEY_OVER_1024_CHARS: 'a key of more than 1024 characters',
  MISSING_CHAR:
    'a comma, colon, dash, line break or closing bracket is missing here or before this place',
  MULTILINE_IMPLICIT_KEY: 'a key over several lines, or a line without its colon',
  MULTIPLE_ANCHORS: 'two anchors of one value (quote text that begins with &)',
  MULTIPLE_DOCS: 'another document',
  MULTIPLE_TAGS: 'two tags of one value (quote text that begins with !)',
  NON_STRING_KEY: 'a key that is not text',
  RESOURCE_EXHAUSTION: 'nested too deep',
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
    return 'an unclosed quote before this place'
  return YAML_ERRORS[code]
}

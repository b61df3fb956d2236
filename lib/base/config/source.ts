// A YAML document of a configuration: its data with variables expanded, and where in the text each part of it is.

import { isAlias, isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from 'yaml'
import type { Document, Node, Pair, Scalar } from 'yaml'
import { pathText } from './error.ts'
import type { Path, Problem } from './error.ts'
import { Disguise, expand } from './expand.ts'
import type { Environment } from './expand.ts'
import { Problems } from './problems.ts'
import { slipsOf, yamlWords } from './yaml-words.ts'

/** What the aliases of one document may stand for, so that a few lines cannot grow without bound. */
const MAX_ALIASES = 100

/** What the documents of one file share. */
interface Text {
  readonly file: string
  readonly disguise: Disguise
  readonly lines: LineCounter
  readonly env: Environment
}

type Fail = (node: unknown, path: Path, message: string) => void

/** The documents of a file, those that hold nothing left out. Throws on broken YAML and unset variables. */
export function sourcesOf(text: string, file: string, env: Environment): Source[] {
  const shared: Text = { file, disguise: new Disguise(text), lines: new LineCounter(), env }
  const documents = parseAllDocuments(shared.disguise.hide(text), {
    merge: true,
    prettyErrors: false,
    lineCounter: shared.lines,
  })
  const problems = new Problems()
  for (const document of documents)
    for (const slip of slipsOf(document))
      problems.add({
        file,
        ...placeOf(shared, slip.pos[0]),
        path: '',
        message: `invalid YAML: ${yamlWords(slip)}`,
      })
  problems.check()
  const sources = documents
    .filter(({ contents }) => contents !== null && !isNothing(contents))
    .map((document) => new Source(document, shared, problems))
  problems.check()
  for (const source of sources) source.read(problems)
  problems.check()
  return sources
}

export class Source {
  readonly file: string
  readonly #document: Document
  readonly #text: Text
  #data: unknown = null

  /** Expands the variables of the document. */
  constructor(document: Document, text: Text, problems: Problems) {
    this.file = text.file
    this.#document = document
    this.#text = text
    this.#expand(document.contents, [], (node, path, message) =>
      problems.add(this.#problem(startOf(node, 0), path, message)),
    )
  }

  /** What the document holds, as plain data. */
  get data(): unknown {
    return this.#data
  }

  /** Makes the data; only once nothing was found wrong. */
  read(problems: Problems): void {
    try {
      this.#data = this.#document.toJS({ maxAliasCount: MAX_ALIASES })
    } catch {
      const message = `too many aliases, expected them to stand for at most ${MAX_ALIASES} parts`
      problems.add(this.#problem(0, [], message))
    }
  }

  /** A problem with what is at `path`, or with its key. */
  problem(path: Path, message: string, part: 'key' | 'value' = 'value'): Problem {
    return this.#problem(this.#offsetOf(path, part), path, message)
  }

  #problem(offset: number, path: Path, message: string): Problem {
    return { file: this.file, ...placeOf(this.#text, offset), path: pathText(path), message }
  }

  /** Expands scalars where they stand, and refuses what cannot become plain data. */
  #expand(node: unknown, path: Path, fail: Fail): void {
    if (isSeq(node)) node.items.forEach((item, index) => this.#expand(item, [...path, index], fail))
    else if (isMap(node))
      for (const pair of node.items)
        this.#expand(pair.value, [...path, this.#key(pair, path, fail)], fail)
    else if (isAlias(node)) {
      if (node.resolve(this.#document) !== undefined) return
      // Its name is not told: it may be a secret that somebody forgot to quote.
      fail(node, path, 'unknown alias, expected an anchor above (quote text that begins with *)')
    } else if (isScalar(node) && typeof node.value === 'string') {
      const { disguise, env } = this.#text
      const text = expand(disguise.reveal(node.value), env, (message) => fail(node, path, message))
      if (text !== node.value) node.value = isPlain(node) ? typed(text, this.#document) : text
    }
  }

  /** Keys are taken as they are written. */
  #key(pair: Pair, path: Path, fail: Fail): string {
    const { key } = pair
    // A tag can make bytes of a scalar.
    if (!isScalar(key) || (typeof key.value === 'object' && key.value !== null)) {
      fail(key, path, 'got a key that is not text, expected a name')
      return ''
    }
    if (typeof key.value === 'string') key.value = this.#text.disguise.reveal(key.value)
    return nameOf(pair)
  }

  /** Offset of the deepest part of `path` that exists. */
  #offsetOf(path: Path, part: 'key' | 'value'): number {
    let node: unknown = this.#document.contents
    let offset = startOf(node, 0)
    for (const [index, key] of path.entries()) {
      const found = this.#step(node, key)
      if (found === undefined) break
      node = found.value
      const wanted = part === 'key' && index === path.length - 1 ? found.key : node
      offset = startOf(wanted, startOf(found.key, offset))
    }
    return offset
  }

  /** One key or index down, through aliases and merged maps. */
  #step(from: unknown, key: string | number): { key: unknown; value: unknown } | undefined {
    const node = isAlias(from) ? from.resolve(this.#document) : from
    if (isSeq(node)) return { key: null, value: node.items[Number(key)] }
    if (!isMap(node)) return undefined
    const pair = node.items.find((item) => nameOf(item) === String(key))
    if (pair !== undefined) return pair
    for (const item of node.items) {
      if (nameOf(item) !== '<<') continue
      for (const merged of isSeq(item.value) ? item.value.items : [item.value]) {
        const found = this.#step(merged, key)
        if (found !== undefined) return found
      }
    }
    return undefined
  }
}

/** A comment between two `---`, or nothing at all. */
function isNothing(node: unknown): boolean {
  return isScalar(node) && node.value === null && node.source === ''
}

function placeOf({ lines }: Text, offset: number): { line: number; column: number } {
  const { line, col } = lines.linePos(offset)
  // A file without a line break has no line starts to count from.
  return line === 0 ? { line: 1, column: offset + 1 } : { line, column: col }
}

/** A value without quotes gets the type it would have if it stood in the file itself. */
function typed(text: string, document: Document): unknown {
  for (const tag of document.schema.tags) {
    if (tag.default !== true || tag.collection !== undefined || !tag.test?.test(text)) continue
    const value: unknown = tag.resolve(text, () => {}, document.options)
    return isScalar(value) ? value.value : value
  }
  return text
}

function isPlain(node: Scalar): boolean {
  return node.type === 'PLAIN' && node.tag === undefined
}

function nameOf(pair: Pair): string {
  const value = isScalar(pair.key) ? pair.key.value : ''
  // The library marks a merge key with a symbol.
  return typeof value === 'symbol' ? (value.description ?? '') : String(value)
}

function startOf(node: unknown, otherwise: number): number {
  const range = (node as Node | null | undefined)?.range
  return range ? range[0] : otherwise
}

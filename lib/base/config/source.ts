// A configuration file as YAML: its data with variables expanded, and where in the text each part of it is.

import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import type { Document, Node, Pair, Scalar } from 'yaml'
import { ConfigError, pathText } from './error.ts'
import type { Path, Problem } from './error.ts'
import { Disguise, expand } from './expand.ts'
import type { Environment } from './expand.ts'

/** What the aliases of one document may stand for, so that a few lines cannot grow without bound. */
const MAX_ALIASES = 100

export class Source {
  readonly file: string
  /** What the document holds, as plain data. */
  readonly data: unknown
  readonly #document: Document
  readonly #disguise: Disguise
  readonly #lines = new LineCounter()
  readonly #problems: Problem[] = []

  constructor(text: string, file: string, env: Environment) {
    this.file = file
    this.#disguise = new Disguise(text)
    this.#document = parseDocument(this.#disguise.hide(text), {
      merge: true,
      prettyErrors: false,
      lineCounter: this.#lines,
    })
    for (const { message, pos } of [...this.#document.errors, ...this.#document.warnings])
      this.#report(pos[0], '', `invalid YAML: ${oneLine(this.#disguise.reveal(message))}`)
    this.check()
    this.#expand(this.#document.contents, [], env)
    this.check()
    this.data = this.#toData()
  }

  /** Records a problem with what is at `path`, or with its key. */
  problem(path: Path, message: string, part: 'key' | 'value' = 'value'): void {
    this.#report(this.#offsetOf(path, part), pathText(path), message)
  }

  /** Throws what was recorded so far, in the order of the text. */
  check(): void {
    if (this.#problems.length === 0) return
    this.#problems.sort((a, b) => a.line - b.line || a.column - b.column)
    throw new ConfigError(this.#problems)
  }

  #report(offset: number, path: string, message: string): void {
    const { line, col } = this.#lines.linePos(offset)
    // A file without a line break has no line starts to count from.
    const place = line === 0 ? { line: 1, column: offset + 1 } : { line, column: col }
    this.#problems.push({ file: this.file, ...place, path, message })
  }

  #toData(): unknown {
    try {
      return this.#document.toJS({ maxAliasCount: MAX_ALIASES })
    } catch {
      this.#report(
        0,
        '',
        `too many aliases, expected them to stand for at most ${MAX_ALIASES} parts`,
      )
      return this.check()
    }
  }

  /** Expands scalars where they stand, and refuses what cannot become plain data. */
  #expand(node: unknown, path: Path, env: Environment): void {
    if (isSeq(node)) node.items.forEach((item, index) => this.#expand(item, [...path, index], env))
    else if (isMap(node))
      for (const pair of node.items) this.#expand(pair.value, [...path, this.#key(pair, path)], env)
    else if (isAlias(node)) {
      if (node.resolve(this.#document) !== undefined) return
      const message = `unknown alias '${node.source}', expected an anchor of that name above`
      this.#report(startOf(node, 0), pathText(path), message)
    } else if (isScalar(node) && typeof node.value === 'string') {
      const text = expand(this.#disguise.reveal(node.value), env, (message) =>
        this.#report(startOf(node, 0), pathText(path), message),
      )
      if (text !== node.value) node.value = isPlain(node) ? typed(text, this.#document) : text
    }
  }

  /** Keys are taken as they are written. */
  #key(pair: Pair, path: Path): string {
    const { key } = pair
    if (!isScalar(key)) {
      this.#report(startOf(key, 0), pathText(path), 'got a key that is not text, expected a name')
      return ''
    }
    if (typeof key.value === 'string') key.value = this.#disguise.reveal(key.value)
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

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

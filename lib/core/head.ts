// A message head as received: its text and the positions of its fields. Edits are recorded, and the head is serialised
// by slicing around them; an unchanged head is never rebuilt.

/** Offsets per field in `spans`: name start, name end, value start, value end. */
const STRIDE = 4

/**
 * Header fields over one latin1 text. A removed field keeps its spans but its name becomes empty, so that no look-up
 * finds it and `fieldsText` skips its line.
 */
export class HeaderFields {
  /** From the start line to the empty line, or '' for fields that were not received. */
  readonly text: string
  readonly spans: number[]
  /** Where the first field line starts in `text`. */
  readonly firstField: number
  #removed = 0
  /** Name, value, name, value … after the received ones; names in lower case. */
  #added: string[] | null = null

  constructor(text: string, spans: number[], firstField: number) {
    this.text = text
    this.spans = spans
    this.firstField = firstField
  }

  /** The first value of a field; `name` in lower case. */
  get(name: string): string | undefined {
    const { text, spans } = this
    const length = name.length
    for (let i = 0; i < spans.length; i += STRIDE) {
      const from = spans[i]!
      const to = spans[i + 1]!
      if (to - from === length && text.substring(from, to).toLowerCase() === name)
        return text.substring(spans[i + 2]!, spans[i + 3])
    }
    const added = this.#added
    if (added !== null)
      for (let i = 0; i < added.length; i += 2) if (added[i] === name) return added[i + 1]
    return undefined
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  /** Every value of a field, in order. */
  getAll(name: string): string[] {
    const { text, spans } = this
    const values: string[] = []
    const length = name.length
    for (let i = 0; i < spans.length; i += STRIDE) {
      const from = spans[i]!
      const to = spans[i + 1]!
      if (to - from === length && text.substring(from, to).toLowerCase() === name)
        values.push(text.substring(spans[i + 2]!, spans[i + 3]))
    }
    const added = this.#added
    if (added !== null)
      for (let i = 0; i < added.length; i += 2) if (added[i] === name) values.push(added[i + 1]!)
    return values
  }

  /** Name (in lower case) and value of every field, in order. */
  *entries(): Generator<[string, string]> {
    const { text, spans } = this
    for (let i = 0; i < spans.length; i += STRIDE) {
      const from = spans[i]!
      const to = spans[i + 1]!
      if (to > from)
        yield [text.substring(from, to).toLowerCase(), text.substring(spans[i + 2]!, spans[i + 3])]
    }
    const added = this.#added
    if (added !== null) for (let i = 0; i < added.length; i += 2) yield [added[i]!, added[i + 1]!]
  }

  /** The same as `entries`, at a fraction of its cost. */
  forEach(visit: (name: string, value: string) => void): void {
    const { text, spans } = this
    for (let i = 0; i < spans.length; i += STRIDE) {
      const from = spans[i]!
      const to = spans[i + 1]!
      if (to > from)
        visit(text.substring(from, to).toLowerCase(), text.substring(spans[i + 2]!, spans[i + 3]))
    }
    const added = this.#added
    if (added !== null) for (let i = 0; i < added.length; i += 2) visit(added[i]!, added[i + 1]!)
  }

  remove(name: string): void {
    const { text, spans } = this
    for (let i = 0; i < spans.length; i += STRIDE) {
      const from = spans[i]!
      const to = spans[i + 1]!
      if (to - from === name.length && text.substring(from, to).toLowerCase() === name)
        this.removeAt(i)
    }
    const added = this.#added
    if (added === null) return
    for (let i = added.length - 2; i >= 0; i -= 2) if (added[i] === name) added.splice(i, 2)
  }

  /** Replaces every value of a field by one. */
  set(name: string, value: string): void {
    this.remove(name)
    this.add(name, value)
  }

  /** Adds one value; the caller ensures that name and value are valid on the wire. */
  add(name: string, value: string): void {
    ;(this.#added ??= []).push(name, value)
  }

  /** The field lines as they are sent, without the empty line after them. */
  fieldsText(): string {
    const { text, spans } = this
    let out = ''
    let from = this.firstField
    const end = text.length === 0 ? 0 : text.length - 2
    if (this.#removed > 0)
      for (let i = 0; i < spans.length; i += STRIDE) {
        const line = spans[i]!
        if (line !== spans[i + 1]) continue
        if (line > from) out += text.substring(from, line)
        from = i + STRIDE < spans.length ? spans[i + STRIDE]! : end
      }
    out = from === this.firstField ? text.substring(from, end) : out + text.substring(from, end)
    const added = this.#added
    if (added !== null)
      for (let i = 0; i < added.length; i += 2) out += added[i]! + ': ' + added[i + 1]! + '\r\n'
    return out
  }

  /** Saves the fields; the returned function restores them. */
  saveState(): () => void {
    const spans = this.spans.slice()
    const removed = this.#removed
    const added = this.#added?.slice() ?? null
    return () => {
      for (const [at, position] of spans.entries()) this.spans[at] = position
      this.#removed = removed
      this.#added = added?.slice() ?? null
    }
  }

  /** Removes the field whose spans start at `index`. */
  removeAt(index: number): void {
    this.spans[index + 1] = this.spans[index]!
    this.#removed++
  }
}

export type HttpVersion = 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2'

/** What a head says about its body and its connection. */
abstract class Head extends HeaderFields {
  version: HttpVersion = 'HTTP/1.1'
  /** The index after the head in the bytes it was parsed from: where the body starts. */
  end = 0
  /** Content-Length, or -1. */
  length = -1
  chunked = false
  keepAlive = true
  /** The protocol that an upgrade requests (request) or accepts (101), or ''. */
  upgrade = ''
}

export class RequestHead extends Head {
  /** Replaces a head that could not be parsed, so that its refusal is sent and logged like any other. */
  static unreadable(version: HttpVersion): RequestHead {
    const head = new RequestHead('', [], 0)
    head.method = '-'
    head.target = '-'
    head.version = version
    head.keepAlive = false
    return head
  }

  method = 'GET'
  /** Path and query, in origin form; `urlRewrite` changes it. */
  target = '/'
  /** Host and port that the client requested, as received and as they are forwarded. */
  receivedAuthority = ''
  /** The same in the form that is matched, set by the exchange: see `normalizeAuthority`. */
  authority = ''

  get path(): string {
    const at = this.target.indexOf('?')
    return at < 0 ? this.target : this.target.substring(0, at)
  }

  /** Without the question mark; '' when there is none. */
  get query(): string {
    const at = this.target.indexOf('?')
    return at < 0 ? '' : this.target.substring(at + 1)
  }
}

export class ResponseHead extends Head {
  status = 200
  reason = 'OK'
  /** Milliseconds for which the backend keeps an idle connection, if it announces them; otherwise -1. */
  keepAliveHint = -1
}

// Plain data as YAML to be read, with a comment where a part was written. The `yaml` package takes a quarter of a second for
// a megabyte, during which no request would move; this takes a tenth of that, and stops at a bound.

/** Fields of a map whose first line says where it was written. */
export class Placed {
  readonly fields: Readonly<Record<string, unknown>>
  readonly place: string | undefined

  constructor(fields: Readonly<Record<string, unknown>>, place: string | undefined) {
    this.fields = fields
    this.place = place
  }
}

/** Texts that mean themselves without quotes: no sign of YAML's, and nothing that is a number or a word of its own. */
const PLAIN = /^[A-Za-z_/][\w/.@*+-]*(?:[:= ][\w/.@*+-]+)*$/
const PLAIN_NUMBERS = /^(?:\d+(?:ms|s|m|h)|\d+\.\d+\.\d+\.\d+(?::\d+)?)$/
const WORDS = /^(?:true|false|null|yes|no|on|off|y|n)$/i
/** Not shown by whoever shows texts, or taken for the end of a line. */
const UNSEEN = /[\x7f-\x9f\u2028\u2029\ufeff]/g

/** May stand between single quotes. */
const SEEN = /^[^\p{Cc}\p{Cs}\u2028\u2029\ufeff]*$/u

const STEP = '  '

class Full extends Error {}

/** `most`: characters; what comes behind them is left out, and a comment says so. Parts may be lists that are made as they are read. */
export function yamlText(data: Readonly<Record<string, unknown>>, most: number): string {
  const writer = new Writer(most)
  try {
    writer.fields(data, '')
  } catch (error) {
    if (!(error instanceof Full)) throw error
    return `${writer.text}# cut here: there is more than fits in ${most} characters\n`
  }
  return writer.text
}

class Writer {
  text = ''
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  /** One line for each, and more for those that have parts; `lead` is what the first line begins with. */
  fields(
    all: Readonly<Record<string, unknown>>,
    indent: string,
    lead = indent,
    place?: string,
  ): void {
    let begin = lead
    let comment = place === undefined ? '' : ` # ${oneLine(place)}`
    for (const [name, value] of Object.entries(all)) {
      if (value === undefined) continue
      this.#value(`${begin}${scalarOf(name)}:`, value, indent, comment)
      begin = indent
      comment = ''
    }
  }

  #value(begin: string, value: unknown, indent: string, comment: string): void {
    if (typeof value !== 'object' || value === null)
      return this.#line(`${begin} ${scalarOf(value)}${comment}`)
    if (value instanceof Placed) {
      this.#line(`${begin}${comment === '' ? '' : comment}`)
      return this.fields(value.fields, indent + STEP, indent + STEP, value.place)
    }
    if (isList(value)) return this.#list(begin, value, indent, comment)
    const fields = value as Readonly<Record<string, unknown>>
    if (Object.keys(fields).length === 0) return this.#line(`${begin} {}${comment}`)
    this.#line(begin + comment)
    this.fields(fields, indent + STEP)
  }

  #list(begin: string, items: Iterable<unknown>, indent: string, comment: string): void {
    let isEmpty = true
    for (const item of items) {
      if (isEmpty) this.#line(begin + comment)
      isEmpty = false
      this.#item(item, indent + STEP)
    }
    if (isEmpty) this.#line(`${begin} []${comment}`)
  }

  #item(item: unknown, indent: string): void {
    const inner = indent + STEP
    if (item instanceof Placed) return this.fields(item.fields, inner, `${indent}- `, item.place)
    if (typeof item !== 'object' || item === null) return this.#line(`${indent}- ${scalarOf(item)}`)
    if (isList(item)) return this.#list(`${indent}-`, item, indent, '')
    const fields = item as Readonly<Record<string, unknown>>
    if (Object.keys(fields).length === 0) return this.#line(`${indent}- {}`)
    this.fields(fields, inner, `${indent}- `)
  }

  #line(line: string): void {
    if (this.text.length + line.length + 1 > this.#most) throw new Full()
    this.text += line + '\n'
  }
}

function isList(value: object): value is Iterable<unknown> {
  return Symbol.iterator in value
}

function scalarOf(value: unknown): string {
  if (typeof value !== 'string') return String(value)
  const isPlain = PLAIN.test(value) ? !WORDS.test(value) : PLAIN_NUMBERS.test(value)
  return isPlain ? value : quoted(value)
}

/** As it has less to escape: in single quotes, where all of it can be seen, or as JSON, which is YAML, too. */
function quoted(text: string): string {
  const single = text.split("'").length
  if (single < text.split(/["\\]/).length && SEEN.test(text))
    return `'${text.replaceAll("'", "''")}'`
  return JSON.stringify(text).replace(
    UNSEEN,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, ' ')
}

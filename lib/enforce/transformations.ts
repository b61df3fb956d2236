// transformations: headers computed by expressions. One that fails, or gives no text, leaves its header out.

import { View } from '../base/cel/view.ts'
import type { TransformationConfig, TransformationsConfig } from '../base/config/types.ts'
import type { Exchange } from '../base/exchange.ts'
import type { Policy } from '../base/types.ts'
import type { Fields } from '../base/wire/head.ts'

/** A longer value is left out like one that failed: it would not pass as a head either. */
const MAX_VALUE_LENGTH = 8_192

export function transformations({ request, response }: TransformationsConfig): Policy {
  return {
    kind: 'transformations',
    ...(request === null
      ? {}
      : {
          request(exchange: Exchange) {
            transform(request, exchange, exchange.request)
            return undefined
          },
        }),
    ...(response === null
      ? {}
      : {
          response(exchange: Exchange, head: Fields) {
            transform(response, exchange, head)
          },
        }),
  }
}

/** All values are computed before any header changes, so that they do not see each other's work. */
function transform(config: TransformationConfig, exchange: Exchange, fields: Fields): void {
  const view = new View(exchange, exchange.facts ?? undefined)
  const valuesOf = (list: TransformationConfig['set']) =>
    list.map(({ name, value }) => {
      const found = exchange.trace === null ? null : value.evaluate(view)
      if (found !== null && 'fault' in found) exchange.trace?.fault(value.source, found.fault, name)
      return { name, text: headerText(value.textOf(view)) }
    })
  const set = valuesOf(config.set)
  const add = valuesOf(config.add)
  for (const name of config.remove) fields.remove(name)
  for (const { name, text } of set)
    if (text === null) fields.remove(name)
    else fields.set(name, text)
  for (const { name, text } of add) if (text !== null) fields.add(name, text)
}

/** What can stand in a header line: no control characters but tabs. */
const LEGAL = /^[\t -~\u0080-\u{10ffff}]*$/u
const LATIN1 = /^[\t-\u00ff]*$/

/** Letters beyond latin1 as UTF-8. */
function headerText(text: string | null): string | null {
  if (text === null || text.length > MAX_VALUE_LENGTH || !LEGAL.test(text)) return null
  const value = trimmed(text)
  return LATIN1.test(value) ? value : Buffer.from(value).toString('latin1')
}

/** Not by `trim`: among the bytes of a letter that came in a header it would find blanks of latin1. */
function trimmed(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && isBlank(text[from]!)) from++
  while (to > from && isBlank(text[to - 1]!)) to--
  return text.slice(from, to)
}

function isBlank(char: string): boolean {
  return char === ' ' || char === '\t'
}

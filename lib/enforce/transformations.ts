// transformations: headers computed by expressions, of requests and answers.

import { computedHeaders } from '../base/cel/computed-headers.ts'
import { View } from '../base/cel/view.ts'
import type { TransformationsConfig } from '../base/config/types.ts'
import type { Exchange } from '../base/exchange.ts'
import type { Trace } from '../base/trace/events.ts'
import type { Policy } from '../base/types.ts'
import type { Fields } from '../base/wire/head.ts'
import { modify } from './header-modifier.ts'
import type { TransformationConfig } from '../base/cel/computed-headers.ts'

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

function transform(config: TransformationConfig, exchange: Exchange, fields: Fields): void {
  const view = new View(exchange, exchange.facts ?? undefined)
  if (exchange.trace !== null) tellOfFaults(exchange.trace, config, view)
  modify(fields, computedHeaders(config, view))
}

/** Expressions that came to nothing, and so left their header out. */
function tellOfFaults(trace: Trace, { set, add }: TransformationConfig, view: View): void {
  for (const { name, value } of [...set, ...add]) {
    const found = value.evaluate(view)
    if ('fault' in found) trace.fault(value, found.fault, name)
  }
}

// requestHeaderModifier and responseHeaderModifier: fields added, replaced and removed.

import type { TransformationsConfig } from '../config/config-types.ts'
import type { Exchange } from '../core/exchange.ts'
import type { HeaderFields } from '../core/head.ts'
import type { Trace } from '../core/trace-events.ts'
import type { Policy } from '../core/types.ts'
import { computeHeaders } from '../expressions/computed-headers.ts'
import type { HeaderModifierConfig, TransformationConfig } from '../expressions/computed-headers.ts'
import { ExpressionView } from '../expressions/exchange-view.ts'

export function createRequestHeaderPolicy(config: HeaderModifierConfig): Policy {
  return {
    kind: 'requestHeaderModifier',
    request({ request }) {
      modifyHeaders(request, config)
      return undefined
    },
  }
}

export function createResponseHeaderPolicy(config: HeaderModifierConfig): Policy {
  return {
    kind: 'responseHeaderModifier',
    response(_exchange, head) {
      modifyHeaders(head, config)
    },
  }
}

/** What is removed may be added again. */
function modifyHeaders(fields: HeaderFields, { add, set, remove }: HeaderModifierConfig): void {
  for (const name of remove) fields.remove(name)
  for (const [name, value] of set) fields.set(name, value)
  for (const [name, value] of add) fields.add(name, value)
}

// transformations: headers computed by expressions, of requests and answers.

export function createTransformationPolicy({ request, response }: TransformationsConfig): Policy {
  return {
    kind: 'transformations',
    ...(request === null
      ? {}
      : {
          request(exchange: Exchange) {
            applyTransformation(request, exchange, exchange.request)
            return undefined
          },
        }),
    ...(response === null
      ? {}
      : {
          response(exchange: Exchange, head: HeaderFields) {
            applyTransformation(response, exchange, head)
          },
        }),
  }
}

function applyTransformation(
  config: TransformationConfig,
  exchange: Exchange,
  fields: HeaderFields,
): void {
  const view = new ExpressionView(exchange, exchange.facts ?? undefined)
  if (exchange.trace !== null) traceExpressionFaults(exchange.trace, config, view)
  modifyHeaders(fields, computeHeaders(config, view))
}

/** Expressions that came to nothing, and so left their header out. */
function traceExpressionFaults(
  trace: Trace,
  { set, add }: TransformationConfig,
  view: ExpressionView,
): void {
  for (const { name, value } of [...set, ...add]) {
    const found = value.evaluate(view)
    if ('fault' in found) trace.recordExpressionFault(value, found.fault, name)
  }
}

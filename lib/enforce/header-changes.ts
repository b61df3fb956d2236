// The policies that change headers: requestHeaderModifier and responseHeaderModifier with fixed values, transformations
// with values computed by expressions.

import type { TransformationsConfig } from '../config/config-types.ts'
import type { Exchange } from '../core/exchange.ts'
import type { HeaderFields } from '../core/head.ts'
import type { Trace } from '../core/trace-events.ts'
import type { Policy } from '../core/types.ts'
import { computeHeaders } from '../expressions/computed-headers.ts'
import type { HeaderModifierConfig, TransformationConfig } from '../expressions/computed-headers.ts'
import { ExpressionView } from '../expressions/exchange-view.ts'
import { findHeaderSecrets } from '../text/known-secrets.ts'

export function createRequestHeaderPolicy(config: HeaderModifierConfig): Policy {
  const secrets = findHeaderSecrets([...config.set, ...config.add])
  return {
    kind: 'requestHeaderModifier',
    request(exchange) {
      exchange.addSecrets(secrets)
      modifyHeaders(exchange.request, config)
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

/** Removes first, so that a removed header can be added again. */
function modifyHeaders(fields: HeaderFields, { add, set, remove }: HeaderModifierConfig): void {
  for (const name of remove) fields.remove(name)
  for (const [name, value] of set) fields.set(name, value)
  for (const [name, value] of add) fields.add(name, value)
}

export function createTransformationPolicy({ request, response }: TransformationsConfig): Policy {
  const names = [...(request?.set ?? []), ...(request?.add ?? [])].map(({ name }) => name)
  const setsCredential = findHeaderSecrets(names.map((name) => [name, ''])).length > 0
  return {
    kind: 'transformations',
    ...(request === null
      ? {}
      : {
          request(exchange: Exchange) {
            const { set, add } = applyTransformation(request, exchange, exchange.request)
            if (setsCredential) exchange.addSecrets(findHeaderSecrets([...set, ...add]))
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

/** Returns the headers with their computed values. */
function applyTransformation(
  config: TransformationConfig,
  exchange: Exchange,
  fields: HeaderFields,
): HeaderModifierConfig {
  const view = new ExpressionView(exchange, exchange.facts ?? undefined)
  if (exchange.trace !== null) traceExpressionFaults(exchange.trace, config, view)
  const computed = computeHeaders(config, view)
  modifyHeaders(fields, computed)
  return computed
}

/** Records each expression that failed, for which the header is omitted. */
function traceExpressionFaults(
  trace: Trace,
  { set, add }: TransformationConfig,
  view: ExpressionView,
): void {
  for (const { name, value } of [...set, ...add]) {
    const result = value.evaluate(view)
    if ('fault' in result) trace.recordExpressionFault(value, result.fault, name)
  }
}

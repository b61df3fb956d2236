// The built-in mock provider: answers in every dialect it is asked in, with the user's own words and made-up usage, for
// the quickstart, tests and dry runs. What it can be told to do wrong stands in `drills.ts`.

import { Budget } from '../../../base/bounds/budget.ts'
import type { LlmFormat } from '../../../base/config/llm-types.ts'
import { faultOf } from '../../../base/errors.ts'
import type { Exchange } from '../../../base/exchange.ts'
import { WholeReader } from '../../../base/read-whole.ts'
import { headOf } from '../../../base/reply.ts'
import type { Attempt, Backend, Reply } from '../../../base/types.ts'
import type { RequestHead } from '../../../base/wire/head.ts'
import { letContinue } from '../../let-continue.ts'
import { TracedAttempt } from '../../traced-attempt.ts'
import { idOf } from './answer.ts'
import { endingOf, paceOf } from './drills.ts'
import { endpointOf, styleOf } from './endpoints.ts'
import { idField, refusal } from './errors.ts'
import { PartsBody } from './parts-body.ts'
import type { Later } from './parts-body.ts'
import type { Ask, Endpoint, Fault, Json, Said } from './types.ts'

/** One request, and all that are being read at a time. */
const MOST_BYTES = 8_388_608
const MOST_BYTES_TOGETHER = 67_108_864

const AFTER: Later = (act, ms) => {
  const timer = setTimeout(act, ms)
  return () => clearTimeout(timer)
}

export class MockBackend implements Backend {
  readonly endpoint = 'mock'
  readonly #formatOf: (path: string) => LlmFormat
  readonly #later: Later
  readonly #bodies = new Budget(MOST_BYTES_TOGETHER)

  constructor(formatOf: (path: string) => LlmFormat, later: Later = AFTER) {
    this.#formatOf = formatOf
    this.#later = later
  }

  call(exchange: Exchange, given: Attempt): void {
    const { request, trace } = exchange
    const attempt =
      trace === null ? given : new TracedAttempt(given, trace.calling(this.endpoint, {}))
    const endpoint = endpointOf(request, this.#formatOf(request.path))
    const at = `${request.method} ${request.path}`
    const refuse = (why: Fault['why'], param: string): void => {
      const style = endpoint?.style ?? styleOf(request)
      attempt.answer(refusal(style, { kind: 'fault', why, param }, idOf(at)))
    }
    if (endpoint === null) return refuse('unknownPath', at)
    if (endpoint.method !== request.method) return refuse('method', at)
    if (endpoint.method === 'GET')
      return attempt.answer(this.#answer(request, endpoint, Buffer.from('{}')))
    const bounds = { most: MOST_BYTES, together: this.#bodies }
    const reader = new WholeReader(attempt.body, bounds, {
      read: (bytes) => {
        exchange.call = null
        try {
          attempt.answer(this.#answer(request, endpoint, bytes))
        } catch (error) {
          // The body may have come long after the head, when nobody else is there to catch it.
          attempt.fail(faultOf(error))
        }
      },
      tooLarge: () => refuse('tooLarge', String(MOST_BYTES)),
      noRoom: () => refuse('busy', ''),
    })
    exchange.call = { cancel: () => reader.abandon() }
    letContinue(exchange)
    reader.start()
  }

  #answer({ path, query }: RequestHead, endpoint: Endpoint, bytes: Buffer): Reply {
    const { style } = endpoint
    const text = bytes.toString()
    const id = idOf(path, text)
    const body = parsed(text)
    if (body === null) return refusal(style, { kind: 'fault', why: 'notJson', param: '' }, id)
    const ask: Ask = { path, query, body }
    const said = endpoint.answer(ask)
    return said.kind === 'fault' ? refusal(style, said, id) : this.#say(said, idField(style, id))
  }

  #say({ form, type, parts, model }: Said, id: readonly [string, string]): Reply {
    const bytes = parts.map((part) => Buffer.from(part))
    const length = form === 'whole' ? bytes[0]!.length : -1
    const head = headOf(200, [['content-type', type], id])
    head.length = length
    if (form === 'whole') head.add('content-length', String(length))
    else head.add('cache-control', 'no-cache')
    head.add('date', new Date().toUTCString())
    const ending = endingOf(model)
    const sent = ending === 'cut' ? half(bytes) : bytes
    const delivery = { pace: paceOf(model), ending, length, later: this.#later }
    return { head, body: new PartsBody(sent, delivery), tunnel: null }
  }
}

function parsed(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Json) : null
  } catch {
    return null
  }
}

/** As much as goes out before it dies. */
function half(parts: readonly Buffer[]): Buffer[] {
  const [first] = parts
  if (parts.length > 1 || first === undefined) return parts.slice(0, parts.length >> 1)
  return [first.subarray(0, first.length >> 1)]
}

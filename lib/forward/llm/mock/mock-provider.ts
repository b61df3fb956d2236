// The built-in mock provider: it answers chat completions, messages and lists of models without a key, with the user's own
// words and a made-up token count, so that the gateway can be tried before a real provider is configured.

import { ByteBudget } from '../../../core/byte-budgets.ts'
import type { LlmFormat } from '../../../config/backend-types.ts'
import { toGatewayError } from '../../../core/errors.ts'
import type { Exchange } from '../../../core/exchange.ts'
import { WholeBodyReader } from '../../../http/read-whole-body.ts'
import { buildResponseHead, buildReply } from '../../../core/replies.ts'
import type { Attempt, Backend, Body, BodyForm, Reply, Sink } from '../../../core/types.ts'
import type { RequestHead } from '../../../core/head.ts'
import { send100Continue, TracedAttempt } from '../../backend-attempt.ts'
import { ANTHROPIC_MODELS, CHAT, COUNT_TOKENS, MESSAGES, OPENAI_MODELS } from './mock-answers.ts'
import type { MockAnswer, MockEndpoint } from './mock-answers.ts'
import { hashTexts, parseObject, refuse, requestIdField } from './mock-request.ts'
import type { ErrorStyle, MockFault } from './mock-request.ts'

/** Of one request, and of all requests that are read at the same time. */
const MAX_BYTES = 8_388_608
const MAX_BYTES_TOGETHER = 67_108_864

const BY_FORMAT: Partial<Record<LlmFormat, MockEndpoint>> = {
  completions: CHAT,
  messages: MESSAGES,
  anthropicTokenCount: COUNT_TOKENS,
  models: OPENAI_MODELS,
}

const BY_PATH: readonly (readonly [suffix: string, MockEndpoint])[] = [
  ['/chat/completions', CHAT],
  ['/messages', MESSAGES],
  ['/messages/count_tokens', COUNT_TOKENS],
  ['/models', OPENAI_MODELS],
]

export class MockProvider implements Backend {
  readonly endpoint = 'mock'
  readonly #formatOf: (path: string) => LlmFormat
  readonly #bodies = new ByteBudget(MAX_BYTES_TOGETHER)

  /** `formatOf` is the format that the route gives to a path. */
  constructor(formatOf: (path: string) => LlmFormat) {
    this.#formatOf = formatOf
  }

  call(exchange: Exchange, given: Attempt): void {
    const { request, trace } = exchange
    const attempt =
      trace === null ? given : new TracedAttempt(given, trace.startCall(this.endpoint, {}))
    const endpoint = findEndpoint(request, this.#formatOf(request.path))
    const target = `${request.method} ${request.path}`
    const refuseWith = (reason: MockFault['reason'], param: string): void => {
      const style = endpoint?.style ?? errorStyleOf(request)
      attempt.answer(refuse(style, { kind: 'fault', reason, param }, hashTexts(target)))
    }
    if (endpoint === null) return refuseWith('unknownPath', target)
    if (endpoint.method !== request.method) return refuseWith('method', target)
    if (endpoint.method === 'GET')
      return attempt.answer(answerRequest(request, endpoint, Buffer.from('{}')))
    const bounds = { maxBytes: MAX_BYTES, sharedBudget: this.#bodies }
    const reader = new WholeBodyReader(attempt.body, bounds, {
      onBody: (bytes) => {
        exchange.pendingCall = null
        try {
          attempt.answer(answerRequest(request, endpoint, bytes))
        } catch (error) {
          // The body may arrive long after `call` returned, so no caller catches this.
          attempt.fail(toGatewayError(error))
        }
      },
      onTooLarge: () => refuseWith('tooLarge', String(MAX_BYTES)),
      onNoRoom: () => refuseWith('busy', ''),
    })
    exchange.pendingCall = { cancel: () => reader.abandon() }
    send100Continue(exchange)
    reader.start()
  }
}

/** A known path decides; the format of the route decides for all other paths. */
function findEndpoint(head: RequestHead, format: LlmFormat): MockEndpoint | null {
  const known = BY_PATH.find(([suffix]) => head.path.endsWith(suffix))?.[1]
  const endpoint = known ?? BY_FORMAT[format] ?? null
  const isAnthropic = errorStyleOf(head) === 'anthropic'
  return endpoint === OPENAI_MODELS && isAnthropic ? ANTHROPIC_MODELS : endpoint
}

/** The dialect of the client, where the path does not tell it. */
function errorStyleOf(head: RequestHead): ErrorStyle {
  return head.has('anthropic-version') ? 'anthropic' : 'openai'
}

function answerRequest(
  { path }: RequestHead,
  { style, answer }: MockEndpoint,
  bytes: Buffer,
): Reply {
  const text = bytes.toString()
  const id = hashTexts(path, text)
  const body = parseObject(text)
  if (body === null) return refuse(style, { kind: 'fault', reason: 'notJson', param: '' }, id)
  const result = answer(body)
  return result.kind === 'fault'
    ? refuse(style, result, id)
    : replyWith(result, requestIdField(style, id))
}

function replyWith({ form, text }: MockAnswer, id: readonly [string, string]): Reply {
  if (form === 'whole') return buildReply(200, [['content-type', 'application/json'], id], text)
  const head = buildResponseHead(200, [
    ['content-type', 'text/event-stream; charset=utf-8'],
    id,
    ['cache-control', 'no-cache'],
    ['date', new Date().toUTCString()],
  ])
  head.length = -1
  return { head, body: new EventStreamBody(Buffer.from(text)), tunnel: null }
}

/** Events that are sent at once, without a content-length, as a provider sends an event stream. */
class EventStreamBody implements Body {
  readonly framing = 'open'
  readonly length = -1
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  start(sink: Sink, _form: BodyForm): void {
    sink.write(this.#bytes, 0, this.#bytes.length)
    sink.end(null)
  }

  pause(): void {}
  resume(): void {}
  cancel(): void {}
}

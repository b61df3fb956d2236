// Removes the models that an API key may not use from the list of models of a provider.

import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { BytesBody } from '../../core/replies.ts'
import type { Attempt, Body, Reply } from '../../core/types.ts'
import { WholeBodyReader } from '../../http/read-whole-body.ts'
import { findBestModelName } from './provider-catalogue.ts'

/** The lists of providers have some hundred KB at most; a longer one is not forwarded. */
const MAX_MODEL_LIST_BYTES = 4_194_304

/** An attempt whose response is a list of models. What cannot be filtered is not forwarded. */
export class ModelListAttempt implements Attempt {
  readonly body: Body
  readonly #exchange: Exchange
  readonly #attempt: Attempt
  readonly #allowed: readonly string[]

  constructor(exchange: Exchange, attempt: Attempt, allowed: readonly string[]) {
    this.body = attempt.body
    this.#exchange = exchange
    this.#attempt = attempt
    this.#allowed = allowed
    // A compressed list could not be read.
    exchange.request.remove('accept-encoding')
  }

  fail(error: GatewayError): void {
    this.#attempt.fail(error)
  }

  answer(reply: Reply): void {
    if (reply.head.status !== 200) return this.#attempt.answer(reply)
    const refuse = (reason: string): void => {
      reply.body.cancel()
      this.#refuse(reason)
    }
    const bounds = { maxBytes: MAX_MODEL_LIST_BYTES, sharedBudget: null }
    const reader = new WholeBodyReader(reply.body, bounds, {
      onBody: (bytes) => this.#answerFiltered(reply, bytes),
      onTooLarge: () => refuse(`the list of models has more than ${MAX_MODEL_LIST_BYTES} bytes`),
      onNoRoom: () => refuse('too many bytes are being read'),
      onCut: () => this.#refuse('the list of models was cut'),
    })
    this.#exchange.pendingCall = {
      cancel: () => {
        reader.abandon()
        reply.body.cancel()
      },
    }
    reader.start()
  }

  #answerFiltered({ head }: Reply, bytes: Buffer): void {
    const filtered = filterModelList(bytes, this.#allowed)
    if (filtered === null) return this.#refuse('the list of models cannot be read')
    head.remove('transfer-encoding')
    head.set('content-length', String(filtered.length))
    this.#attempt.answer({ head, body: new BytesBody(filtered), tunnel: null })
  }

  #refuse(reason: string): void {
    this.#attempt.fail(new GatewayError('BACKEND_INVALID', `upstream call failed: ${reason}`))
  }
}

/** The list is `data` of OpenAI and Anthropic, `models` of Gemini, or the whole response. null for bytes that are not JSON. */
function filterModelList(bytes: Buffer, allowed: readonly string[]): Buffer | null {
  const isAllowed = (model: unknown): boolean => {
    const id = modelIdOf(model)
    return id !== null && findBestModelName(allowed, id) !== undefined
  }
  const list = parseList(bytes)
  if (list === null) return null
  if (Array.isArray(list)) return Buffer.from(JSON.stringify(list.filter(isAllowed)))
  const member = ['data', 'models'].find((name) => Array.isArray(list[name]))
  if (member === undefined) return bytes
  const kept = (list[member] as unknown[]).filter(isAllowed)
  list[member] = kept
  // Anthropic names the ends of a page.
  if ('first_id' in list) list['first_id'] = modelIdOf(kept[0])
  if ('last_id' in list) list['last_id'] = modelIdOf(kept.at(-1))
  return Buffer.from(JSON.stringify(list))
}

function parseList(bytes: Buffer): Record<string, unknown> | unknown[] | null {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

function modelIdOf(model: unknown): string | null {
  const { id, name } = (model ?? {}) as { id?: unknown; name?: unknown }
  if (typeof id === 'string') return id
  return typeof name === 'string' ? name.replace(/^models\//, '') : null
}

// POST /v1/messages and /v1/messages/count_tokens

import { inputTokens, wholeSaid } from './answer.ts'
import { drillFault } from './drills.ts'
import { invalid, lastSaid, listOf, missing, mostOf, nameOf, textsIn } from './fields.ts'
import { EVENT_STREAM, named } from './sse.ts'
import type { Answer, Asked, Ask, Endpoint, Fault, Json, Manner } from './types.ts'

export const MESSAGES: Manner = {
  style: 'anthropic',
  read,

  whole(answer) {
    const content = [{ type: 'text', text: answer.words.join('') }]
    const output = answer.words.length
    return { ...messageOf(answer), content, ...stopOf(answer), ...usageOf(answer, output, TIER) }
  },

  stream(answer) {
    const running = { stop_reason: null, stop_sequence: null }
    const message = { ...messageOf(answer), content: [], ...running, ...usageOf(answer, 1, TIER) }
    const words = answer.words.map((text) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text },
    }))
    const events = [
      { type: 'message_start', message },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'ping' },
      ...words,
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: stopOf(answer), ...usageOf(answer, answer.words.length) },
      { type: 'message_stop' },
    ]
    return { type: EVENT_STREAM, parts: events.map(named) }
  },
}

export const COUNT_TOKENS: Endpoint = {
  method: 'POST',
  style: 'anthropic',
  answer(ask) {
    const asked = read(ask)
    if (asked.kind === 'fault') return asked
    const { model, texts } = asked
    return drillFault(model) ?? wholeSaid({ input_tokens: inputTokens(texts) }, model)
  },
}

function read({ body }: Ask): Asked | Fault {
  const model = nameOf(body['model'])
  const messages = listOf(body['messages'])
  const most = mostOf(body['max_tokens'])
  if (model === '') return missing('model')
  if (messages.length === 0) return missing('messages')
  if (most === null) return invalid('max_tokens')
  return {
    kind: 'asked',
    model,
    texts: [...textsIn(body['system']), ...textsIn(messages)],
    said: lastSaid(messages),
    most,
    form: body['stream'] === true ? 'stream' : 'whole',
    usageChunk: 'unasked',
  }
}

function messageOf({ id, model }: Answer): Json {
  return { id: `msg_${id}`, type: 'message', role: 'assistant', model }
}

function stopOf({ finish }: Answer): Json {
  return { stop_reason: finish === 'stop' ? 'end_turn' : 'max_tokens', stop_sequence: null }
}

const TIER = { service_tier: 'standard' }

/** A stream begins with what was read, and counts what was written as it goes. */
function usageOf({ tokens }: Answer, output: number, tier: Json = {}): Json {
  if (tokens === null) return {}
  const usage = {
    input_tokens: tokens.input,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: output,
    ...tier,
  }
  return { usage }
}

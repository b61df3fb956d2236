// POST /v1/chat/completions

import { CREATED } from './answer.ts'
import { invalid, lastSaid, listOf, missing, mostOf, nameOf, objectOf, textsIn } from './fields.ts'
import { DONE, EVENT_STREAM, unnamed } from './sse.ts'
import type { Answer, Json, Manner, Tokens } from './types.ts'

export const CHAT: Manner = {
  style: 'openai',

  read({ body }) {
    const model = nameOf(body['model'])
    const messages = listOf(body['messages'])
    const most = mostOf(body['max_completion_tokens'] ?? body['max_tokens'])
    if (model === '') return missing('model')
    if (messages.length === 0) return missing('messages')
    if (most === null) return invalid('max_tokens')
    return {
      kind: 'asked',
      model,
      texts: textsIn(messages),
      said: lastSaid(messages),
      most,
      ...streamingOf(body),
    }
  },

  whole(answer) {
    const message = {
      role: 'assistant',
      content: answer.words.join(''),
      refusal: null,
      annotations: [],
    }
    const choice = { index: 0, message, logprobs: null, finish_reason: answer.finish }
    return {
      ...headOf(answer, 'chat.completion'),
      choices: [choice],
      ...usageOf(answer.tokens),
      ...TAIL,
    }
  },

  stream(answer) {
    const head = { ...headOf(answer, 'chat.completion.chunk'), ...TAIL }
    const chunk = (delta: Json, finish: string | null): string => {
      const choice = { index: 0, delta, logprobs: null, finish_reason: finish }
      return unnamed({ ...head, choices: [choice], ...untold(answer) })
    }
    const parts = [
      chunk({ role: 'assistant', content: '', refusal: null }, null),
      ...answer.words.map((content) => chunk({ content }, null)),
      chunk({}, answer.finish),
      ...usageChunk(answer, head),
      DONE,
    ]
    return { type: EVENT_STREAM, parts }
  },
}

const TAIL = { service_tier: 'default', system_fingerprint: 'fp_mock' }

function headOf({ id, model }: Answer, object: string): Json {
  return { id: `chatcmpl-${id}`, object, created: CREATED, model }
}

/** How a chat or its elder wants its answer sent. */
export function streamingOf(body: Json): {
  form: 'whole' | 'stream'
  usageChunk: 'asked' | 'unasked'
} {
  const isAsked = objectOf(body['stream_options'])['include_usage'] === true
  return {
    form: body['stream'] === true ? 'stream' : 'whole',
    usageChunk: isAsked ? 'asked' : 'unasked',
  }
}

export function usageOf(tokens: Tokens | null): Json {
  if (tokens === null) return {}
  const { input, output } = tokens
  const usage = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
  return { usage }
}

/** What all other chunks have in its place, for those who asked. */
export function untold({ usageChunk: wish, tokens }: Answer): Json {
  return wish === 'unasked' || tokens === null ? {} : { usage: null }
}

/** The chunk behind the last, only for those who asked. */
export function usageChunk({ usageChunk: wish, tokens }: Answer, head: Json): string[] {
  if (wish === 'unasked' || tokens === null) return []
  return [unnamed({ ...head, choices: [], ...usageOf(tokens) })]
}

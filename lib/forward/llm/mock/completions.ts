// POST /v1/completions, the elder of chat.

import { CREATED } from './answer.ts'
import { streamingOf, untold, usageChunk, usageOf } from './chat.ts'
import { invalid, missing, mostOf, nameOf, textsIn } from './fields.ts'
import { DONE, EVENT_STREAM, unnamed } from './sse.ts'
import type { Answer, Json, Manner } from './types.ts'

export const COMPLETIONS: Manner = {
  style: 'openai',

  read({ body }) {
    const model = nameOf(body['model'])
    const texts = textsIn(body['prompt'])
    const most = mostOf(body['max_tokens'])
    if (model === '') return missing('model')
    if (texts.length === 0) return missing('prompt')
    if (most === null) return invalid('max_tokens')
    return { kind: 'asked', model, texts, said: texts.at(-1) ?? '', most, ...streamingOf(body) }
  },

  whole(answer) {
    const choices = [choiceOf(answer.words.join(''), answer.finish)]
    return { ...headOf(answer), choices, ...usageOf(answer.tokens) }
  },

  stream(answer) {
    const head = headOf(answer)
    const chunk = (text: string, finish: string | null): string =>
      unnamed({ ...head, choices: [choiceOf(text, finish)], ...untold(answer) })
    const parts = [
      ...answer.words.map((word) => chunk(word, null)),
      chunk('', answer.finish),
      ...usageChunk(answer, head),
      DONE,
    ]
    return { type: EVENT_STREAM, parts }
  },
}

function headOf({ id, model }: Answer): Json {
  return { id: `cmpl-${id}`, object: 'text_completion', created: CREATED, model }
}

function choiceOf(text: string, finish: string | null): Json {
  return { text, index: 0, logprobs: null, finish_reason: finish }
}

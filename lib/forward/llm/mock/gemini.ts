// POST /v1beta/models/{model}:generateContent, :streamGenerateContent and :countTokens

import { inputTokens, wholeSaid } from './answer.ts'
import { drillFault } from './drills.ts'
import { invalid, lastSaid, listOf, missing, mostOf, objectOf, textsIn } from './fields.ts'
import type { Answer, Asked, Ask, Endpoint, Fault, Json, Manner } from './types.ts'

const PATH = /\/models\/([^/:]+):(\w+)$/

export const GEMINI: Manner = {
  style: 'google',
  read,

  whole(answer) {
    return chunkOf(answer, answer.words.join(''), 'last')
  },

  /** Events for those who ask for them, otherwise one array that grows. */
  stream(answer, { query }) {
    const { words } = answer
    const chunks = words.map((word, at) =>
      JSON.stringify(chunkOf(answer, word, at === words.length - 1 ? 'last' : at)),
    )
    if (new URLSearchParams(query).get('alt') === 'sse')
      return { type: 'text/event-stream', parts: chunks.map((chunk) => `data: ${chunk}\r\n\r\n`) }
    const items = chunks.map((chunk, at) => `${at === 0 ? '[' : ',\r\n'}${chunk}`)
    return { type: 'application/json; charset=UTF-8', parts: [...items, ']'] }
  },
}

export const GEMINI_COUNT_TOKENS: Endpoint = {
  method: 'POST',
  style: 'google',
  answer(ask) {
    const asked = read(ask)
    if (asked.kind === 'fault') return asked
    const { model, texts } = asked
    return drillFault(model) ?? wholeSaid({ totalTokens: inputTokens(texts) }, model)
  },
}

/** Both spellings are legal for its fields. */
function read({ path, body }: Ask): Asked | Fault {
  const [, written = '', method = ''] = PATH.exec(path) ?? []
  const contents = listOf(body['contents'])
  const config = objectOf(body['generationConfig'] ?? body['generation_config'])
  const most = mostOf(config['maxOutputTokens'] ?? config['max_output_tokens'])
  if (written === '') return missing('model')
  if (contents.length === 0) return missing('contents')
  if (most === null) return invalid('max_output_tokens')
  const system = textsIn(body['systemInstruction'] ?? body['system_instruction'])
  return {
    kind: 'asked',
    model: written,
    texts: [...system, ...textsIn(contents)],
    said: lastSaid(contents),
    most,
    form: method === 'streamGenerateContent' ? 'stream' : 'whole',
    usageChunk: 'unasked',
  }
}

/** Every chunk counts all that was written up to it. */
function chunkOf(answer: Answer, text: string, at: number | 'last'): Json {
  const content = { parts: [{ text }], role: 'model' }
  const finishReason = answer.finish === 'stop' ? 'STOP' : 'MAX_TOKENS'
  const end = at === 'last' ? { finishReason } : {}
  return {
    candidates: [{ content, ...end, index: 0 }],
    ...usageOf(answer, at === 'last' ? answer.words.length : at + 1),
    modelVersion: answer.model,
    responseId: answer.id,
  }
}

function usageOf({ tokens }: Answer, output: number): Json {
  if (tokens === null) return {}
  const { input } = tokens
  const usageMetadata = {
    promptTokenCount: input,
    candidatesTokenCount: output,
    totalTokenCount: input + output,
  }
  return { usageMetadata }
}

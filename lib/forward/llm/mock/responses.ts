// POST /v1/responses

import { CREATED } from './answer.ts'
import { invalid, lastSaid, listOf, missing, mostOf, nameOf, textsIn } from './fields.ts'
import { EVENT_STREAM, named } from './sse.ts'
import type { Answer, Json, Manner } from './types.ts'

type Status = 'in_progress' | 'completed' | 'incomplete'

export const RESPONSES: Manner = {
  style: 'openai',

  read({ body }) {
    const model = nameOf(body['model'])
    const { input, instructions } = body
    const most = mostOf(body['max_output_tokens'])
    if (model === '') return missing('model')
    if (typeof input !== 'string' && listOf(input).length === 0) return missing('input')
    if (most === null) return invalid('max_output_tokens')
    return {
      kind: 'asked',
      model,
      texts: [...textsIn(instructions), ...textsIn(input)],
      said: typeof input === 'string' ? input : lastSaid(listOf(input)),
      most,
      form: body['stream'] === true ? 'stream' : 'whole',
      usageChunk: 'unasked',
    }
  },

  whole(answer) {
    const status = statusOf(answer)
    const part = partOf(answer.words.join(''))
    return responseOf(answer, status, [itemOf(answer, status, [part])])
  },

  stream(answer) {
    const parts = eventsOf(answer).map(({ type, ...rest }, at) =>
      named({ type, sequence_number: at, ...rest }),
    )
    return { type: EVENT_STREAM, parts }
  },
}

function eventsOf(answer: Answer): (Json & { readonly type: string })[] {
  const item_id = `msg_${answer.id}`
  const at = { item_id, output_index: 0, content_index: 0 }
  const status = statusOf(answer)
  const text = answer.words.join('')
  const item = itemOf(answer, status, [partOf(text)])
  const begun = responseOf(answer, 'in_progress', [])
  const words = answer.words.map((delta) => ({
    type: 'response.output_text.delta',
    ...at,
    delta,
    logprobs: [],
  }))
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: itemOf(answer, 'in_progress', []),
    },
    { type: 'response.content_part.added', ...at, part: partOf('') },
    ...words,
    { type: 'response.output_text.done', ...at, text, logprobs: [] },
    { type: 'response.content_part.done', ...at, part: partOf(text) },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: `response.${status}`, response: responseOf(answer, status, [item]) },
  ]
}

function statusOf({ finish }: Answer): Status {
  return finish === 'stop' ? 'completed' : 'incomplete'
}

function partOf(text: string): Json {
  return { type: 'output_text', annotations: [], logprobs: [], text }
}

function itemOf({ id }: Answer, status: Status, content: readonly Json[]): Json {
  return { id: `msg_${id}`, type: 'message', status, content, role: 'assistant' }
}

function responseOf(answer: Answer, status: Status, output: readonly Json[]): Json {
  const { id, model } = answer
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: CREATED,
    status,
    background: false,
    error: null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    instructions: null,
    max_output_tokens: null,
    metadata: {},
    model,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    service_tier: 'default',
    store: false,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    usage: status === 'in_progress' ? null : usageOf(answer),
    user: null,
  }
}

function usageOf({ tokens }: Answer): Json | null {
  if (tokens === null) return null
  const { input, output } = tokens
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  }
}

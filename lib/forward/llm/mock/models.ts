// GET /v1/models, in the words of the two dialects that have it there.

import { CREATED, wholeSaid } from './answer.ts'
import { MODELS } from './drills.ts'
import type { Endpoint } from './types.ts'

export const OPENAI_MODELS: Endpoint = {
  method: 'GET',
  style: 'openai',
  answer() {
    const data = MODELS.map((id) => ({ id, object: 'model', created: CREATED, owned_by: 'mock' }))
    return wholeSaid({ object: 'list', data }, '')
  },
}

export const ANTHROPIC_MODELS: Endpoint = {
  method: 'GET',
  style: 'anthropic',
  answer() {
    const created_at = new Date(CREATED * 1000).toISOString()
    const data = MODELS.map((id) => ({ type: 'model', id, display_name: id, created_at }))
    return wholeSaid({ data, has_more: false, first_id: MODELS[0], last_id: MODELS.at(-1) }, '')
  },
}

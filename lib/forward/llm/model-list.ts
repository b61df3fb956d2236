// The models of the `llm` section, as clients of either dialect ask for them.

import { GatewayError } from '../../base/errors.ts'
import { replyOf } from '../../base/reply.ts'
import type { Reply } from '../../base/types.ts'
import type { RequestHead } from '../../base/wire/head.ts'

const PATH = /\/models(?:\/(.+?))?\/*$/

/** All of them, or the one that is named; null for a path that asks for neither. */
export function modelsReply(request: RequestHead, ids: readonly string[]): Reply | null {
  const found = PATH.exec(request.path)
  if (found === null) return null
  const shape = request.has('anthropic-version') ? ANTHROPIC : OPENAI
  const name = found[1]
  if (name === undefined) return json(shape.list(ids))
  const id = ids.find((known) => known === name || encodeURIComponent(known) === name)
  if (id === undefined) throw new GatewayError('MODEL_NOT_FOUND', 'the model does not exist')
  return json(shape.one(id))
}

function json(value: object): Reply {
  return replyOf(200, [['content-type', 'application/json']], JSON.stringify(value))
}

interface Shape {
  readonly list: (ids: readonly string[]) => object
  readonly one: (id: string) => object
}

const OPENAI: Shape = {
  list: (ids) => ({ object: 'list', data: ids.map((id) => OPENAI.one(id)) }),
  one: (id) => ({ id, object: 'model', created: 0, owned_by: 'openai' }),
}

const ANTHROPIC: Shape = {
  list: (ids) => ({
    data: ids.map((id) => ANTHROPIC.one(id)),
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
    has_more: false,
  }),
  one: (id) => ({ type: 'model', id, display_name: id, created_at: '1970-01-01T00:00:00Z' }),
}

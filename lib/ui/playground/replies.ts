// What the playground's endpoints say themselves.

import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { ApiProblem } from '../../admin/page-api/page-api-types.ts'

export function reply(response: ServerResponse, status: number, value: unknown): void {
  const text = JSON.stringify(value)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  response.end(text)
}

export function refuse(response: ServerResponse, status: number, error: string): void {
  reply(response, status, { error } satisfies ApiProblem)
}

export function isJson(headers: IncomingHttpHeaders): boolean {
  const [type = ''] = (headers['content-type'] ?? '').toLowerCase().split(';')
  return type.trim() === 'application/json'
}

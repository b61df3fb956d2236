// An exchange for a request written as bytes, for policies that are tested alone.

import { Exchange } from '../../lib/core/exchange.ts'
import { BytesBody } from '../../lib/core/replies.ts'
import type { ExchangeClient, ExchangeHandler, Reply, Sink } from '../../lib/core/types.ts'
import type { RequestHead } from '../../lib/core/head.ts'
import { parseRequestHead } from '../../lib/http/parse-head.ts'

const LIMITS = { maxHeadBytes: 65_536, maxHeaders: 128 }

/** Lines without line ends; the empty line after them is added. */
export function requestOf(...lines: string[]): RequestHead {
  const bytes = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  const head = parseRequestHead(bytes, 0, bytes.length, LIMITS)
  if (head === null) throw new Error('the request head is incomplete')
  return head
}

function never(): never {
  throw new Error('a policy that is tested alone must not call this')
}

/** A body that fails the spec when a policy reads it. */
class UnreadBody extends BytesBody {
  constructor() {
    super(Buffer.from('unread'))
  }

  override start(): void {
    never()
  }
}

const CLIENT: ExchangeClient = { bytesWritten: 0, sendInterim: never, respond: never, cut: never }
const STEPS = { answer: never, fail: never, settle: never } as unknown as ExchangeHandler

export function exchangeOf(request: RequestHead, scheme: 'http' | 'https' = 'http'): Exchange {
  const source = { address: '127.0.0.1', port: 1, label: '127.0.0.1:1', secure: scheme === 'https' }
  return new Exchange(source, request, new UnreadBody(), CLIENT, STEPS)
}

/** The content of a reply whose body is complete. */
export function contentOf({ body }: Reply): string {
  let content = ''
  const sink: Sink = {
    write(bytes, from, to) {
      content += bytes.toString('latin1', from, to)
      return true
    },
    end() {},
    cut: never,
  }
  body.start(sink, 'content')
  return content
}

type GroupFields = Exchange['choice'] &
  Exchange['enforcement'] &
  Exchange['forwarding'] &
  Exchange['response']

/** Fields of an exchange and of its groups, by their own names. */
export type ExchangeFields = Partial<Exchange & GroupFields>

/** Sets each field on the exchange or on the group that has it. */
export function withFields(exchange: Exchange, fields: ExchangeFields): Exchange {
  const { choice, enforcement, forwarding, response } = exchange
  const groups: object[] = [choice, enforcement, forwarding, response]
  for (const [name, value] of Object.entries(fields))
    Object.assign(groups.find((group) => name in group) ?? exchange, { [name]: value })
  return exchange
}

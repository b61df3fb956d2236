// An exchange around a request written as bytes, for policies that are asked alone.

import { Exchange } from '../../lib/base/exchange.ts'
import { BytesBody } from '../../lib/base/reply.ts'
import type { Client, Sink, Steps } from '../../lib/base/types.ts'
import type { Reply } from '../../lib/base/types.ts'
import type { RequestHead } from '../../lib/base/wire/head.ts'
import { parseRequestHead } from '../../lib/base/wire/parse-head.ts'

const LIMITS = { maxHeadBytes: 65_536, maxHeaders: 128 }

/** Lines without their ends; the empty line behind them is added. */
export function requestOf(...lines: string[]): RequestHead {
  const bytes = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  const head = parseRequestHead(bytes, 0, bytes.length, LIMITS)
  if (head === null) throw new Error('the request head is incomplete')
  return head
}

function never(): never {
  throw new Error('a policy asked alone must not come here')
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

const CLIENT: Client = { written: 0, inform: never, respond: never, cut: never }
const STEPS = { answer: never, fail: never, settle: never } as unknown as Steps

export function exchangeOf(request: RequestHead, scheme: 'http' | 'https' = 'http'): Exchange {
  const source = { address: '127.0.0.1', port: 1, label: '127.0.0.1:1', secure: scheme === 'https' }
  return new Exchange(source, request, new UnreadBody(), CLIENT, STEPS)
}

/** The bytes of a reply that is there already. */
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

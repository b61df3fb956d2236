// Closing idle connections when file descriptors run out.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { BACKEND_LIMITS } from '../../../lib/core/bounds.ts'
import {
  sendInternalRequest,
  createRequestHead,
} from '../../../lib/forward/http/internal-request.ts'
import { ConnectionPools, createOrigin } from '../../../lib/forward/http/pools.ts'
import { deadline } from '../../support/deadline.ts'
import { Stage } from '../../support/gateway.ts'

const trim = suite('forward/http/trim')
const stage = new Stage()
trim.after.each(() => stage.clear())

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'

trim('closes half of the idle connections', async () => {
  const backend = await stage.backend([
    { wait: /\r\n\r\n/ },
    { hold: true },
    { send: OK },
    { again: true },
  ])
  const pools = stage.add(new ConnectionPools(BACKEND_LIMITS))
  const pool = pools.poolFor(
    createOrigin({ kind: 'tcp', host: '127.0.0.1', port: backend.port }, null),
  )
  const answers = [1, 2, 3].map(
    (number) =>
      new Promise<void>((resolve, reject) => {
        const head = createRequestHead('GET', `/${number}`, [])
        const request = { head, body: null, deadline: 0 }
        sendInternalRequest(pool, request, { answered: () => resolve(), failed: reject })
      }),
  )
  await backend.until((text) => text.includes('/1') && text.includes('/2') && text.includes('/3'))
  for (const _each of answers) backend.release()
  await deadline(Promise.all(answers), 30_000, 'the answers')
  assert.is(pool.describe().idle, 3)
  pools.trim()
  assert.is(pool.describe().idle, 1)
  const open = (): number => backend.connections.filter(({ end }) => end === 'open').length
  while (open() > 1)
    await deadline(
      Promise.race(backend.connections.map((one) => one.change())),
      30_000,
      'the end of two',
    )
  assert.is(open(), 1)
})

trim.run()

// Backends whose workers die after they executed a request: no request that is not idempotent is executed twice.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../support/deadline.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import { RawClient } from '../support/raw-client.ts'

const judge = suite('judges/duplicates')
const stage = new Stage()
judge.after.each(() => stage.clear())

const REQUESTS = 3_000
const AT_ONCE = 16
/** Every so many requests, a worker dies after it executed one. */
const DEATH = 9

/** Counts how often each request was executed, and closes connections without a response. */
async function startBackend(executed: Map<string, number>): Promise<number> {
  let count = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const id = request.url ?? ''
      executed.set(id, (executed.get(id) ?? 0) + 1)
      if (++count % DEATH === 0) return void request.socket.destroy()
      response.end('done')
    })
  })
  const listening = new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  await deadline(listening, 30_000, 'the backend to listen')
  stage.add({ close: () => server.closeAllConnections() ?? server.close() })
  return (server.address() as AddressInfo).port
}

async function sendAll(port: number, method: string): Promise<Map<string, number>> {
  const statuses = new Map<string, number>()
  const ids = Array.from({ length: REQUESTS }, (_, i) => `/${method}/${i}`).values()
  const worker = async (): Promise<void> => {
    const client = await RawClient.connect(port)
    for (const id of ids) {
      client.send(`${method} ${id} HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nbody`)
      await client.until(/\r\n\r\n(?:done|upstream call failed: [\w ]+)$/)
      const text = client.take(client.text.length)
      statuses.set(id, Number(text.slice(9, 12)))
    }
    client.destroy()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return statuses
}

for (const method of ['POST', 'PATCH'])
  judge(`executes no ${method} twice`, async () => {
    const executed = new Map<string, number>()
    const port = await startBackend(executed)
    const gateway = await stage.gateway(routeTo({ port }))
    const statuses = await sendAll(gateway.port, method)
    const twice = [...executed].filter(([, count]) => count > 1)
    assert.equal(twice, [])
    const failed = [...statuses.values()].filter((status) => status !== 200)
    assert.ok(failed.every((status) => status === 503))
    assert.ok(failed.length >= REQUESTS / DEATH - 1, `${failed.length} failed`)
  })

judge('sends a PUT again, which may be executed twice', async () => {
  const executed = new Map<string, number>()
  const port = await startBackend(executed)
  const gateway = await stage.gateway(routeTo({ port }))
  const statuses = await sendAll(gateway.port, 'PUT')
  assert.ok([...executed.values()].some((count) => count > 1))
  assert.ok([...statuses.values()].filter((status) => status === 200).length > REQUESTS * 0.95)
})

judge.run()

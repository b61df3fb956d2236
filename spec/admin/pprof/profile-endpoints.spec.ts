// /debug/pprof: how requests are passed to the profilers, and their results to the client.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../../conformance/gateway-process.ts'
import { createPprofEndpoints } from '../../../lib/admin/pprof/profile-endpoints.ts'
import type { ProfileSource } from '../../../lib/admin/pprof/profile-endpoints.ts'
import type { CpuOptions } from '../../../lib/admin/pprof/profiler.ts'
import { AdminServer } from '../../../lib/admin/admin-server.ts'
import { adminWith } from '../../support/admin.ts'
import { deadline } from '../../support/deadline.ts'
import { Stage } from '../../support/gateway.ts'

const pprof = suite('admin/pprof endpoints')
const stage = new Stage()
pprof.after.each(() => stage.clear())

function sourceOf(profile: Buffer | null, received: CpuOptions[] = []): ProfileSource {
  return {
    cpu(options) {
      received.push(options)
      return Promise.resolve(profile)
    },
    heap: () => Promise.resolve(profile),
  }
}

pprof('without a number the default applies', async () => {
  const received: CpuOptions[] = []
  const ask = await adminWith(
    stage,
    createPprofEndpoints(sourceOf(Buffer.from('x'), received), 'linux'),
  )
  const rows: [query: string, seconds: number, frequency: number][] = [
    ['', 10, 100],
    ['?seconds=1&frequency=1', 1, 1],
    ['?seconds=300&frequency=1000', 300, 1000],
    ['?seconds=2', 2, 100],
  ]
  for (const [query] of rows) await ask(`GET /debug/pprof/profile${query}`)
  assert.equal(
    received.map(({ seconds, frequency }) => [seconds, frequency]),
    rows.map(([, seconds, frequency]) => [seconds, frequency]),
  )
})

pprof('a number out of range is refused with the range, and no profile is taken', async () => {
  const received: CpuOptions[] = []
  const source = sourceOf(Buffer.from('x'), received)
  const ask = await adminWith(stage, createPprofEndpoints(source, 'linux'))
  for (const [name, range, values] of [
    ['seconds', '1 to 300', ['0', '301', '-5', '1.5', '', 'x', '9999999999999']],
    ['frequency', '1 to 1000', ['0', '1001', '1e2', 'fast']],
  ] as const)
    for (const value of values) {
      const { status, text } = await ask(`GET /debug/pprof/profile?${name}=${value}`)
      const expected = `expected a whole number from ${range}`
      assert.equal([status, text], [400, `invalid ${name}: got '${value}', ${expected}\n`])
    }
  assert.equal(received, [])
})

pprof('answers with the bytes of the profile, and 409 while another is taken', async () => {
  const ask = await adminWith(stage, createPprofEndpoints(sourceOf(Buffer.from('bytes')), 'linux'))
  for (const path of ['/debug/pprof/profile', '/debug/pprof/heap']) {
    const { status, headers, text } = await ask(`GET ${path}`)
    assert.is(status, 200)
    assert.is(headers.get('content-type'), 'application/octet-stream')
    assert.is(headers.get('content-encoding'), null)
    assert.is(text, 'bytes')
    assert.is((await ask(`POST ${path}`)).status, 405)
  }
  const busy = await adminWith(stage, createPprofEndpoints(sourceOf(null), 'linux'))
  for (const path of ['/debug/pprof/profile', '/debug/pprof/heap']) {
    const { status, text } = await busy(`GET ${path}`)
    assert.is(status, 409)
    assert.is(text, 'another profile is being taken: try again\n')
  }
})

pprof('has no CPU profile on systems other than Linux', async () => {
  const ask = await adminWith(stage, createPprofEndpoints(sourceOf(Buffer.from('x')), 'darwin'))
  assert.is((await ask('GET /debug/pprof/profile')).status, 404)
  assert.is((await ask('GET /debug/pprof/heap')).status, 200)
})

pprof('a client that leaves ends its profile', async () => {
  let left: (() => void) | undefined
  const gone = new Promise<void>((resolve) => (left = resolve))
  let began: (() => void) | undefined
  const begun = new Promise<void>((resolve) => (began = resolve))
  const source: ProfileSource = {
    cpu: ({ signal }) => {
      signal.addEventListener('abort', () => left?.())
      began?.()
      return new Promise(() => {})
    },
    heap: () => Promise.resolve(null),
  }
  const endpoints = createPprofEndpoints(source, 'linux')
  const server = stage.add(new AdminServer(endpoints, () => {}))
  const port = await freePort()
  await deadline(server.listen({ kind: 'tcp', host: '127.0.0.1', port }), 30_000, 'the interface')
  const client = await stage.client({ port, host: '127.0.0.1' })
  client.send('GET /debug/pprof/profile HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await deadline(begun, 30_000, 'the profile to begin')
  client.destroy()
  await deadline(gone, 30_000, 'the profiler to hear of it')
})

pprof.run()

// gwctl sends the request that it traces: the trace is of that request, however many others arrive first.

import { execFileSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { Folder } from '../support/folder.ts'
import { Program, runProgram } from '../support/program.ts'

const inject = suite('gwctl proxy trace of its own request')

const folder = new Folder()
inject.after(() => folder.close())

const CURL = execFileSync('sh', ['-c', 'command -v curl'], { encoding: 'utf8' }).trim()

/** A curl that lets other requests go first, on as many connections. */
function slowCurl(port: number): string {
  const others = `for i in 1 2 3 4; do "${CURL}" -s -o /dev/null http://127.0.0.1:${port}/other; done`
  const path = folder.write('curl', `#!/bin/sh\n${others}\nexec "${CURL}" "$@"\n`)
  chmodSync(path, 0o755)
  return `${folder.path}:${process.env['PATH']}`
}

interface Backend {
  readonly port: number
  readonly received: { readonly url: string; readonly headers: IncomingHttpHeaders }[]
  close(): void
}

/** Redirects `/moved`, and records every request. */
async function startBackend(): Promise<Backend> {
  const received: Backend['received'][number][] = []
  const server = createServer(({ url = '', headers }, response) => {
    received.push({ url, headers })
    if (url === '/moved') response.writeHead(302, { location: '/mine' }).end()
    else response.end('ok')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { port, received, close: () => server.close().closeAllConnections() }
}

for (const workers of [1, 2])
  inject(`is never that of another client, with config.workers ${workers}`, async () => {
    const [port, admin] = [await freePort(), await freePort()]
    const backend = await startBackend()
    const text = `config: { workers: ${workers}, adminAddr: '127.0.0.1:${admin}', statsAddr: 'off', readinessAddr: 'off' }
gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes: [{ backends: [{ host: '127.0.0.1:${backend.port}' }] }]
`
    const env = { ADMIN_ADDR: undefined, STATS_ADDR: undefined }
    const gateway = new Program('gateway', ['-f', folder.write('c.yaml', text)], env)
    await gateway.prints(/started bind/)
    const args = ['trace', '--raw', '-p', String(admin), '--port', String(port), '--']
    const options = ['-s', '-L', '-o', '/dev/null']
    const run = await runProgram('gwctl', [...args, 'http://a.test/moved', ...options], {
      PATH: slowCurl(port),
    })
    await gateway.kill()
    backend.close()
    assert.equal([run.stderr, run.code], ['', 0])
    assert.match(run.stdout, '"path":"/moved"')
    assert.not.match(run.stdout, '/other')
    assert.not.match(run.stdout, 'x-gateway-trace')
    const urls = backend.received.map(({ url }) => url)
    assert.equal(urls, ['/other', '/other', '/other', '/other', '/moved', '/mine'])
    // curl sends the header again after the redirect; no backend gets it.
    assert.ok(backend.received.every(({ headers }) => !('x-gateway-trace' in headers)))
  })

inject.run()

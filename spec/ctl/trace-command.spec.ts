// gwctl proxy trace as a program: its requests, its output, its errors and its exit code.

import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { AdminDouble, traceOf } from '../support/ctl/admin-double.ts'
import { SAMPLE_LINES } from '../support/ctl/sample-trace.ts'
import { deadline } from '../support/deadline.ts'
import { Folder } from '../support/folder.ts'
import { Program, runProgram } from '../support/program.ts'

const SAMPLE_TEXT = SAMPLE_LINES.map((line) => line + '\n').join('')

async function refuses(message: string, ...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await runProgram('gwctl', ['proxy', 'trace', ...args])
  assert.is(stderr, `Error: ${message}\n`)
  assert.equal([stdout, code], ['', 1])
}

interface Listener {
  readonly port: number
  readonly heard: string[]
  /** Resolves when a request was answered. */
  readonly answered: Promise<void>
  close(): void
}

/** Answers 201 and records the requests. */
async function listener(): Promise<Listener> {
  const heard: string[] = []
  let done = (): void => {}
  const answered = new Promise<void>((resolve) => (done = resolve))
  const server = createServer((request, response) => {
    const { method, url, headers } = request
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => {
      heard.push(`${method} ${url} host=${headers.host} x-a=${String(headers['x-a'])} ${body}`)
      response.writeHead(201).end('created')
      done()
    })
  })
  server.listen(0, '127.0.0.1')
  await deadline(once(server, 'listening'), 30_000, 'a listener')
  return {
    port: (server.address() as AddressInfo).port,
    heard,
    answered,
    close: () => server.close().closeAllConnections(),
  }
}

const trace = suite('gwctl proxy trace')

const folder = new Folder()
trace.after(() => folder.close())

trace('refuses contradictory options with the messages of the reference', async () => {
  const url = ['--', 'http://a/']
  await refuses('accepts at most 1 resource arg, received 2', 'gateway/a', 'gateway/b')
  await refuses('--local does not accept a resource argument', '--local', 'gateway/a')
  await refuses('--file does not accept a resource argument', '--file', 'x', 'gateway/a')
  await refuses('at most one of --file or --local may be passed', '--file', 'x', '--local')
  await refuses('--file does not accept --expression', '--file', 'x', '--expression', 'true')
  await refuses('--file does not accept a request URL after --', '--file', 'x', ...url)
  await refuses('invalid --port 0: expected a port from 1 to 65535', '--port', '0', ...url)
  await refuses('invalid --port 65536: expected a port from 1 to 65535', '--port', '65536', ...url)
  await refuses('invalid --proxy-admin-port x: expected a port from 1 to 65535', '-p', 'x')
  await refuses('a request URL requires --port', ...url)
  await refuses('--port requires a request URL after --', '--port', '3000')
  const none = 'request args after -- must include at least one http:// or https:// URL'
  await refuses(none, '--port', '3000', '--', 'example.com', '-X', 'POST')
  await refuses(none, '--port', '3000', '--')
})

trace('prints each event unchanged, one per line, and ends with the stream', async () => {
  const admin = await AdminDouble.open({ 'POST /debug/trace': traceOf(SAMPLE_LINES) })
  const args = ['proxy', 'trace', '--local', '--raw', '-p', String(admin.port)]
  const { code, stdout, stderr } = await runProgram('gwctl', args)
  admin.close()
  assert.is(stdout, SAMPLE_TEXT)
  assert.equal([stderr, code], ['', 0])
  assert.equal(admin.requests, ['POST /debug/trace'])
})

trace('behaves like --raw if standard output is not a terminal', async () => {
  const admin = await AdminDouble.open({ 'POST /debug/trace': traceOf(SAMPLE_LINES) })
  const { stdout } = await runProgram('gwctl', ['trace', '-p', String(admin.port)])
  admin.close()
  assert.is(stdout, SAMPLE_TEXT)
})

trace('prints an event when it arrives', async () => {
  let finish = (): void => {}
  const admin = await AdminDouble.open({
    'POST /debug/trace': (response) => {
      response.write(`: ready\n\ndata: ${SAMPLE_LINES[0]}\n\n: keepalive\n\n`)
      finish = () => response.end()
    },
  })
  const program = new Program('gwctl', ['trace', '--raw', '-p', String(admin.port)])
  await program.prints((text) => text === SAMPLE_LINES[0] + '\n')
  finish()
  assert.is(await program.exit(), 0)
  admin.close()
})

trace('keeps unusual JSON unchanged', async () => {
  const line = '{"message":{"type":"x"},  "n":1e3, "t":"\\u001b\u0085日" }'
  const admin = await AdminDouble.open({ 'POST /debug/trace': traceOf([line]) })
  const { stdout } = await runProgram('gwctl', ['trace', '--raw', '-p', String(admin.port)])
  admin.close()
  assert.is(stdout, line + '\n')
})

trace('sends the expression', async () => {
  const admin = await AdminDouble.open({ 'POST /debug/trace': traceOf(SAMPLE_LINES) })
  const expression = 'request.path == "/a b" && 1 < 2'
  const args = ['trace', '--raw', '-p', String(admin.port), '--expression', expression]
  await runProgram('gwctl', args)
  admin.close()
  assert.equal(admin.requests, [`POST /debug/trace?expression=${encodeURIComponent(expression)}`])
})

trace('connects to a unix socket and to a URL', async () => {
  const path = folder.at('admin.sock')
  const script = { 'POST /debug/trace': traceOf(SAMPLE_LINES) }
  const unix = await AdminDouble.open(script, path)
  const tcp = await AdminDouble.open(script)
  for (const url of [`unix:${path}`, `unix://${path}`, `http://localhost:${tcp.port}`]) {
    const { stdout, stderr } = await runProgram('gwctl', ['trace', '--raw', '--admin-url', url])
    assert.equal([stdout, stderr], [SAMPLE_TEXT, ''], url)
  }
  unix.close()
  tcp.close()
})

trace('finds a gateway by its name in the hosts file', async () => {
  const admin = await AdminDouble.open({ 'POST /debug/trace': traceOf(SAMPLE_LINES) })
  const { port } = admin
  const file = folder.write('hosts.yaml', `staging: http://127.0.0.1:${port}\nlive: unix:/x\n`)
  const env = { GWCTL_HOSTS: file }
  const run = (name: string, ...more: string[]): ReturnType<typeof runProgram> =>
    runProgram('gwctl', ['trace', '--raw', name, ...more], env)
  assert.is((await run('gateway/staging')).stdout, SAMPLE_TEXT)
  admin.close()
  const unknown = await run('gateway/stagin', '-p', String(port))
  assert.is(
    unknown.stderr,
    `Error: unknown gateway "stagin"; did you mean gateway/staging?\n` +
      `127.0.0.1:${port}: connection refused: is the gateway running, with its admin interface here?\n` +
      `Write "stagin: http://<host>:15000" into ${file} (it has staging, live), or pass --admin-url.\n`,
  )
  assert.is(unknown.code, 1)
  assert.match((await run('staging')).stderr, 'invalid resource "staging": expected gateway/<name>')
})

trace('finds a gateway by its name on this machine without a hosts file', async () => {
  const listeners = [{ gatewayName: 'edge' }, { gatewayName: 'edge' }, { gatewayName: 'inner' }]
  const admin = await AdminDouble.open({
    'GET /config_dump': JSON.stringify({ listeners }),
    'POST /debug/trace': traceOf(SAMPLE_LINES),
  })
  const { port } = admin
  const file = folder.at('no-hosts.yaml')
  const run = (name: string): ReturnType<typeof runProgram> =>
    runProgram('gwctl', ['proxy', 'trace', '--raw', name, '-p', String(port)], {
      GWCTL_HOSTS: file,
    })
  const { code, stdout, stderr } = await run('gateway/edge')
  assert.equal([stdout, stderr, code], [SAMPLE_TEXT, '', 0])
  const unknown = await run('gateway/edgy')
  admin.close()
  assert.is(
    unknown.stderr,
    `Error: unknown gateway "edgy"; did you mean gateway/edge?\n` +
      `127.0.0.1:${port} has edge, inner.\n` +
      `Write "edgy: http://<host>:15000" into ${file}, or pass --admin-url.\n`,
  )
  assert.is(unknown.code, 1)
})

trace('reports a refusal with status and body', async () => {
  const admin = await AdminDouble.open({
    'POST /debug/trace': (response) =>
      void response.writeHead(400).end('invalid expression: nonsense\n'),
  })
  const { code, stderr } = await runProgram('gwctl', ['trace', '-p', String(admin.port)])
  admin.close()
  assert.is(stderr, 'Error: trace stream returned 400 Bad Request: invalid expression: nonsense\n')
  assert.is(code, 1)
})

trace('reports a gateway that is not running', async () => {
  const admin = await AdminDouble.open({})
  const port = String(admin.port)
  admin.close()
  const { code, stderr } = await runProgram('gwctl', ['trace', '-p', port])
  assert.match(stderr, `Error: failed to open trace stream: 127.0.0.1:${port}: connection refused`)
  assert.is(code, 1)
  const socket = await runProgram('gwctl', ['trace', '--admin-url', 'unix:/no/such/socket'])
  assert.match(socket.stderr, 'failed to open trace stream: unix:/no/such/socket: no such socket')
})

trace('fails when the stream breaks off, after printing its events', async () => {
  const admin = await AdminDouble.open({
    'POST /debug/trace': (response) => {
      response.write(`data: ${SAMPLE_LINES[0]}\n\n`)
      setImmediate(() => response.destroy())
    },
  })
  const { code, stdout, stderr } = await runProgram('gwctl', ['trace', '-p', String(admin.port)])
  admin.close()
  assert.is(stdout, SAMPLE_LINES[0] + '\n')
  assert.match(stderr, /^Error: the trace stream broke off: /)
  assert.is(code, 1)
})

trace('fails when the stream ends without a request', async () => {
  const admin = await AdminDouble.open({ 'POST /debug/trace': traceOf([]) })
  const { code, stderr } = await runProgram('gwctl', ['trace', '-p', String(admin.port)])
  admin.close()
  assert.is(stderr, 'Error: the trace stream ended before a request came\n')
  assert.is(code, 1)
})

trace(
  'sends the request to the listener when the trace is ready, whatever host it names',
  async () => {
    const target = await listener()
    const admin = await AdminDouble.open({
      'POST /debug/trace': traceOf(SAMPLE_LINES, target.answered),
    })
    const body = folder.write('body.json', '{"a":1}')
    const args = ['trace', '--raw', '-p', String(admin.port), '--port', String(target.port), '--']
    const request = [
      'http://api.example.com/items?q=1',
      '-X',
      'PUT',
      '-H',
      'x-a: b',
      '-d',
      `@${body}`,
    ]
    const { code, stdout, stderr } = await runProgram('gwctl', [...args, ...request])
    assert.equal(target.heard, ['PUT /items?q=1 host=api.example.com x-a=b {"a":1}'])
    assert.equal([stdout, stderr, code], [SAMPLE_TEXT, '', 0])
    admin.close()
    target.close()
  },
)

trace('ignores the port of the URL and proxies of the environment', async () => {
  const target = await listener()
  const admin = await AdminDouble.open({
    'POST /debug/trace': traceOf(SAMPLE_LINES, target.answered),
  })
  const args = ['trace', '--raw', '-p', String(admin.port), '--port', String(target.port), '--']
  const env = { http_proxy: 'http://127.0.0.1:1', all_proxy: 'http://127.0.0.1:1' }
  const { code } = await runProgram('gwctl', [...args, '-s', 'http://h.test:8443/'], env)
  assert.equal(target.heard, ['GET / host=h.test:8443 x-a=undefined '])
  assert.is(code, 0)
  admin.close()
  target.close()
})

trace('fails when the request fails', async () => {
  const admin = await AdminDouble.open({
    'POST /debug/trace': (response) => void response.write(': ready\n\n'),
  })
  const args = ['trace', '--raw', '-p', String(admin.port), '--port', '1', '--', 'http://a/']
  const { code, stderr } = await runProgram('gwctl', args)
  admin.close()
  assert.match(stderr, /curl: \(7\)[^]*Error: curl failed with exit code 7\n$/)
  assert.is(code, 1)
})

trace('supports common arguments without curl, and says so', async () => {
  const target = await listener()
  const admin = await AdminDouble.open({
    'POST /debug/trace': traceOf(SAMPLE_LINES, target.answered),
  })
  const args = ['trace', '--raw', '-p', String(admin.port), '--port', String(target.port), '--']
  const request = ['http://api.example.com/x', '-H', 'x-a: b', '--json', '{"a":1}']
  const env = { PATH: folder.path }
  const { code, stdout, stderr } = await runProgram('gwctl', [...args, ...request], env)
  assert.equal(target.heard, ['POST /x host=api.example.com x-a=b {"a":1}'])
  assert.is(stderr, 'curl was not found: gwctl sends the request itself\n')
  assert.equal([stdout, code], [SAMPLE_TEXT, 0])
  admin.close()
  target.close()
})

trace('gives up when no trace of the request comes', async () => {
  const bin = folder.write('curl', '#!/bin/sh\nexit 0\n')
  chmodSync(bin, 0o755)
  const admin = await AdminDouble.open({
    'POST /debug/trace': (response) => void response.write(': ready\n\n'),
  })
  const args = ['trace', '-p', String(admin.port), '--port', '9', '--', 'http://a/']
  const env = { PATH: `${folder.path}:${process.env['PATH']}` }
  const { code, stderr } = await runProgram('gwctl', args, env)
  admin.close()
  assert.match(stderr, /^Error: the request was answered, but no trace of it came: .* port 9 /)
  assert.is(code, 1)
})

trace('prints a saved trace from a file or standard input', async () => {
  const file = folder.at('trace.jsonl')
  writeFileSync(file, SAMPLE_TEXT + '\n')
  assert.is((await runProgram('gwctl', ['trace', '--file', file])).stdout, SAMPLE_TEXT)
  const piped = await runProgram('gwctl', ['trace', '-f', '-', '--raw'], {}, SAMPLE_TEXT.trimEnd())
  assert.equal([piped.stdout, piped.code], [SAMPLE_TEXT, 0])
})

trace('fails on a file without events', async () => {
  const file = folder.write('empty.jsonl', '\n')
  await refuses(`${file} holds no events`, '--file', file)
  await refuses('standard input holds no events', '--raw', '--file', '-')
})

trace('reports a missing file and the line of an invalid one', async () => {
  const file = folder.write('bad.jsonl', `${SAMPLE_LINES[0]}\nnonsense\n`)
  const bad = await runProgram('gwctl', ['trace', '--file', file])
  assert.is(bad.stdout, SAMPLE_LINES[0] + '\n')
  assert.match(bad.stderr, `Error: failed to read trace file ${file} line 2: `)
  assert.is(bad.code, 1)
  const absent = await runProgram('gwctl', ['trace', '--file', '/no/such'])
  assert.match(absent.stderr, /^Error: failed to read trace file \/no\/such: .*no such file/)
})

trace.run()

// Every example is a valid configuration that the built gateway serves.

import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../conformance/gateway-process.ts'
import { parseConfig } from '../lib/config/load.ts'
import type { GatewayConfig } from '../lib/config/config-types.ts'
import { Program } from './support/program.ts'
import { RawClient } from './support/raw-client.ts'
import { ROOT } from './support/root.ts'

const EXAMPLES = join(ROOT, 'examples')
const names = readdirSync(EXAMPLES).filter((name) => name.endsWith('.yaml'))

const examples = suite('examples')

examples('exist', () => {
  assert.ok(names.length > 0)
})

for (const name of names) {
  const text = readFileSync(join(EXAMPLES, name), 'utf8')

  examples(`${name} says in its first line what it shows`, () => {
    assert.match(text, /^# \S/)
  })

  examples(`${name} is served`, async () => {
    // A copy of the whole folder, so that files an example names are found.
    const folder = mkdtempSync(join(tmpdir(), 'examples-'))
    cpSync(EXAMPLES, folder, { recursive: true })
    const file = join(folder, name)
    const moved = await onFreePorts(text, parseConfig(text, { file, env: {} }).gateways)
    writeFileSync(file, moved)
    const program = new Program('gateway', ['-f', file])
    try {
      await program.prints(/started bind/)
      for (const gateway of parseConfig(moved, { file, env: {} }).gateways) await ask(gateway)
      program.signal('SIGTERM')
      assert.is(await program.exit(), 0)
      assert.is(program.stderr, '')
    } finally {
      await program.kill()
      rmSync(folder, { recursive: true })
    }
  })
}

examples.run()

/** The example with its ports replaced by free ones. */
async function onFreePorts(text: string, gateways: readonly GatewayConfig[]): Promise<string> {
  let moved = text
  for (const { port } of gateways)
    moved = moved.replaceAll(new RegExp(`\\b${port}\\b`, 'g'), String(await freePort()))
  return moved
}

/** Accepts any response, as there are no backends here; for a TLS listener, a connection. */
async function ask({ port, listeners }: GatewayConfig): Promise<void> {
  const client = await RawClient.connect(port)
  try {
    if (listeners.some(({ tls }) => tls !== null)) return
    client.send('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    assert.match(await client.until(/\r\n\r\n/), /^HTTP\/1\.1 \d{3} /)
  } finally {
    client.destroy()
  }
}

// What the cases of one file share: ports, backends, and a gateway that is restarted when the config changes.

import { randomUUID } from 'node:crypto'
import type { NetConnectOpts } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Backend } from '../spec/support/backend.ts'
import { parseBackendScripts } from './backend.ts'
import { blocksOf, conversationOf } from './case-file.ts'
import type { Block, Case, CaseFile } from './case-file.ts'
import { GatewayProcess, freePort } from './gateway-process.ts'

/** Programs that a config can start: MCP servers on stdin and stdout, in plain JavaScript. */
const PROGRAMS: Record<string, string> = {
  node: process.execPath,
  'mcp-server': pathOf('../spec/support/children/mcp-server.js'),
  'mcp-demo': pathOf('../bin/mcp-demo.js'),
}

export class Stage {
  readonly #file: CaseFile
  readonly #command: string[]
  readonly #ports = new Map<string, number>()
  readonly #backends = new Map<string, Backend>()
  readonly #socket = join(tmpdir(), `conformance-${randomUUID().slice(0, 8)}.sock`)
  #gateway: GatewayProcess | null = null
  #config = ''

  constructor(file: CaseFile, command: string[]) {
    this.#file = file
    this.#command = command
  }

  /** Sets the backend scripts and starts the gateway, unless it already runs with the same config. */
  async prepare(aCase: Case): Promise<GatewayProcess> {
    for (const backend of this.#backends.values()) await backend.restart([])
    for (const { info, text } of blocksOf(this.#file, aCase, 'backend')) {
      const backend = await this.backend(info === '' ? '1' : info)
      await backend.restart(...parseBackendScripts(await this.fill(text)))
    }
    const env = await this.fill(blocksOf(this.#file, aCase, 'env')[0]?.text ?? '')
    const config = await this.fill(blocksOf(this.#file, aCase, 'config')[0]?.text ?? '')
    const settings = `${env}\n${config}`
    if (this.#gateway?.isRunning === true && this.#config === settings) return this.#gateway
    await this.#gateway?.stop()
    this.#config = settings
    this.#gateway = new GatewayProcess(this.#command, config, parseEnv(env))
    return this.#gateway
  }

  conversation(aCase: Case): Block[] {
    return conversationOf(this.#file, aCase)
  }

  /** Stops the gateway, so that the next case starts a new one. */
  async discard(): Promise<void> {
    await this.#gateway?.stop()
    this.#gateway = null
  }

  async close(): Promise<void> {
    await this.discard()
    for (const backend of this.#backends.values()) await backend.close()
  }

  async port(name = '1'): Promise<number> {
    const known = this.#ports.get(name)
    if (known !== undefined) return known
    const port = await freePort()
    this.#ports.set(name, port)
    return port
  }

  /** The admin address of the config: {{socket}} or {{admin}}. */
  async admin(): Promise<NetConnectOpts> {
    if (this.#config.includes(this.#socket)) return { path: this.#socket }
    return { port: await this.port('admin'), host: '127.0.0.1' }
  }

  async backend(name = '1'): Promise<Backend> {
    const known = this.#backends.get(name)
    if (known !== undefined) return known
    const backend = await Backend.start([])
    this.#backends.set(name, backend)
    return backend
  }

  get backends(): Iterable<Backend> {
    return this.#backends.values()
  }

  /**
   * Inserts addresses: {{port}}, {{backend}}, {{backend-port}}, {{dead}}, each also with a number; {{admin}}, {{admin-port}} and
   * {{socket}}; and paths: {{node}}, {{mcp-server}} and {{mcp-demo}}.
   */
  async fill(text: string): Promise<string> {
    let filled = text
    for (const [placeholder, name, number] of text.matchAll(/\{\{([a-z-]+)(?: (\d+))?\}\}/g))
      if (name !== 'length')
        filled = filled.replace(
          placeholder,
          await this.#resolvePlaceholder(name ?? '', number ?? '1'),
        )
    return filled
  }

  async #resolvePlaceholder(name: string, number: string): Promise<string> {
    if (name === 'port') return String(await this.port(number))
    if (name === 'socket') return this.#socket
    if (name === 'admin') return `127.0.0.1:${await this.port('admin')}`
    if (name === 'admin-port') return String(await this.port('admin'))
    const program = PROGRAMS[name]
    if (program !== undefined) return program
    if (name === 'dead') return `127.0.0.1:${await this.port(`dead ${number}`)}`
    if (name !== 'backend' && name !== 'backend-port')
      throw new Error(`unknown placeholder {{${name}}}`)
    const { port } = await this.backend(number)
    return name === 'backend' ? `127.0.0.1:${port}` : String(port)
  }
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url))
}

function parseEnv(text: string): Record<string, string> {
  const pairs = text.split('\n').filter((line) => line.includes('='))
  return Object.fromEntries(
    pairs.map((line) => [
      line.substring(0, line.indexOf('=')),
      line.substring(line.indexOf('=') + 1),
    ]),
  )
}

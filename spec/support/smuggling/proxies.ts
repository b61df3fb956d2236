// nginx and haproxy, if they are installed: one process each, as a proxy to a port.

import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { freePort } from '../../../conformance/gateway-process.ts'
import { deadline } from '../deadline.ts'
import { Folder } from '../folder.ts'
import { RawClient } from '../raw-client.ts'

const WAIT_MS = 30_000

export type ProxyName = 'nginx' | 'haproxy'

export function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
}

function nginx(folder: Folder, port: number, target: number): string[] {
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder.at(name)};`)
    .join('\n  ')
  const file = folder.write(
    'nginx.conf',
    `daemon off;
master_process off;
pid ${folder.at('nginx.pid')};
error_log stderr crit;
events { worker_connections 256; }
http {
  access_log off;
  ${temp}
  client_body_timeout 1s;
  client_header_timeout 1s;
  upstream next { server 127.0.0.1:${target}; keepalive 4; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://next;
      proxy_http_version 1.1;
      proxy_set_header connection "";
      proxy_request_buffering off;
    }
  }
}
`,
  )
  return ['nginx', '-p', folder.path, '-e', 'stderr', '-c', file]
}

function haproxy(folder: Folder, port: number, target: number): string[] {
  const file = folder.write(
    'haproxy.cfg',
    `defaults
  mode http
  timeout connect 5s
  timeout client 1s
  timeout server 1s
  http-reuse always
frontend clients
  bind 127.0.0.1:${port}
  default_backend next
backend next
  server one 127.0.0.1:${target}
`,
  )
  return ['haproxy', '-q', '-db', '-f', file]
}

const COMMANDS = { nginx, haproxy }

export class Proxy {
  readonly port: number
  readonly #folder: Folder
  readonly #child: ChildProcess
  readonly #exited: Promise<void>
  #stderr = ''

  private constructor(name: ProxyName, port: number, target: number) {
    this.port = port
    this.#folder = new Folder()
    const [program = '', ...words] = COMMANDS[name](this.#folder, port, target)
    this.#child = spawn(program, words, { stdio: ['ignore', 'ignore', 'pipe'] })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text))
    this.#exited = new Promise((resolve) => {
      this.#child.once('error', () => resolve())
      this.#child.once('close', () => resolve())
    })
  }

  static async start(name: ProxyName, target: number): Promise<Proxy> {
    const proxy = new Proxy(name, await freePort(), target)
    await proxy.#listens()
    return proxy
  }

  async close(): Promise<void> {
    this.#child.kill('SIGKILL')
    await deadline(this.#exited, WAIT_MS, 'a proxy to exit')
    this.#folder.close()
  }

  async #listens(): Promise<void> {
    const until = performance.now() + WAIT_MS
    for (;;) {
      try {
        return (await RawClient.connect(this.port)).destroy()
      } catch {
        if (this.#child.exitCode !== null || performance.now() > until)
          throw new Error(`the proxy does not listen: ${this.#stderr}`)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }
}

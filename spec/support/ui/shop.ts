// A gateway in its own process: routes that respond, refuse and fail, an LLM, an MCP server. The page is on its
// admin interface.

import { freePort } from '../../../conformance/gateway-process.ts'
import { deadline } from '../deadline.ts'
import { Folder } from '../folder.ts'
import { Program } from '../program.ts'
import { ROOT } from '../root.ts'
import type { World } from './judge.ts'

const WAIT_MS = 30_000

const NODE = JSON.stringify(process.execPath)
const DEMO = JSON.stringify(`${ROOT}dist/bin/mcp-demo.js`)

/** One target as YAML. */
export const DEMO_TARGET = `{ name: demo, stdio: { cmd: ${NODE}, args: [${DEMO}] } }`

/** `${PORT}` is the port of the gateway, `${GONE}` an unused one. */
const ROUTES = `
  - name: hello
    matches: [{ path: { exact: /hello } }]
    policies: { directResponse: { status: 200, body: hello } }
  - name: team
    matches: [{ path: { pathPrefix: /team } }]
    policies:
      authorization: { rules: ['request.headers["x-team"] == "red"'] }
      directResponse: { status: 200, body: welcome }
  - name: few
    matches: [{ path: { exact: /few } }]
    policies:
      rateLimit: { local: [{ requests: 2, unit: Hours }] }
      directResponse: { status: 200, body: here }
  - name: down
    matches: [{ path: { exact: /down } }]
    backends: [{ host: '127.0.0.1:\${GONE}' }]
  - name: chat
    matches: [{ path: { pathPrefix: /v1 } }]
    policies:
      rateLimit: { local: [{ tokens: 1000, unit: Hours, key: 'request.headers["x-team"]' }] }
    backends: [{ ai: { name: main, provider: { mock: {} } } }]
  - name: tools
    matches: [{ path: { exact: /mcp } }]
    backends: [{ mcp: { targets: [${DEMO_TARGET}] } }]
`

/** Resources for `more`: one with an existing target, one without. */
export const POLICIES = `---
apiVersion: gateway.dev/v1alpha1
kind: GatewayPolicy
metadata: { name: for-team, namespace: default }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: team }]
  traffic: { rateLimit: { local: [{ requests: 500, unit: Minutes }] } }
---
apiVersion: gateway.dev/v1alpha1
kind: GatewayPolicy
metadata: { name: dangling, namespace: default }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: absent-route }]
  traffic: { rateLimit: { local: [{ requests: 5, unit: Minutes }] } }
`

export interface ShopConfig {
  /** Replaces the routes above. */
  readonly routes?: string
  /** Further sections and documents. */
  readonly more?: string
  readonly env?: Readonly<Record<string, string>>
}

export class Shop implements World {
  readonly origin: string
  readonly port: number
  readonly #folder: Folder
  readonly #text: string
  readonly #run: () => Program
  #program: Program

  private constructor(text: string, port: number, admin: number, env: ShopConfig['env']) {
    this.port = port
    this.origin = `http://127.0.0.1:${admin}`
    this.#text = text
    this.#folder = new Folder()
    const file = this.#folder.write('shop.yaml', text)
    const all = { ADMIN_ADDR: `127.0.0.1:${admin}`, ...env }
    this.#run = () => new Program('gateway', ['-f', file], all)
    this.#program = this.#run()
  }

  static async start({ routes = ROUTES, more = '', env = {} }: ShopConfig = {}): Promise<Shop> {
    const [port, admin, gone] = [await freePort(), await freePort(), await freePort()]
    const text = `gateways: { default: { port: ${port}, address: 127.0.0.1 } }\nroutes:${routes}${more}`
    const filled = text.replaceAll('${PORT}', String(port)).replaceAll('${GONE}', String(gone))
    const shop = new Shop(filled, port, admin, env)
    await shop.#program.prints(/started bind/)
    return shop
  }

  /** Sends a request as a client and reads the whole response; resolves to its status. */
  async send(path: string, init: RequestInit = {}): Promise<number> {
    const asked = fetch(`http://127.0.0.1:${this.port}${path}`, init)
    const answer = await deadline(asked, WAIT_MS, path)
    await deadline(answer.arrayBuffer(), WAIT_MS, path)
    return answer.status
  }

  /** A streamed chat with the mock provider. */
  chat(team: string, words: string, model = 'small'): Promise<number> {
    return this.send('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-team': team },
      body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: words }] }),
    })
  }

  /** JSON from the admin interface. */
  async fetchJson<T>(path: string): Promise<T> {
    const answer = await deadline(fetch(this.origin + path), WAIT_MS, path)
    return deadline(answer.json(), WAIT_MS, path) as Promise<T>
  }

  /** Writes another configuration, which the gateway loads or refuses. */
  write(change: (text: string) => string): void {
    this.#folder.replace('shop.yaml', change(this.#text))
  }

  async stop(): Promise<void> {
    await this.#program.kill()
  }

  /** Starts the gateway again at the same addresses. */
  async startAgain(): Promise<void> {
    this.#program = this.#run()
    await this.#program.prints(/started bind/)
  }

  async close(): Promise<void> {
    await this.stop()
    this.#folder.close()
  }
}

// The configuration in force on the page: YAML with file positions, policy resources, and the last refused reload.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parse } from 'yaml'
import { parseConfig } from '../../../lib/config/load.ts'
import { formatConfigYaml } from '../../../lib/admin/page-api/config-view.ts'
import type { ConfigView } from '../../../lib/admin/page-api/page-api-types.ts'
import type { UiRequest } from '../../../lib/admin/page-api/page-request.ts'
import { Stage } from '../../support/gateway.ts'
import { Reloading } from '../../support/reloading.ts'
import { RICH_CONFIG } from '../../support/rich-config.ts'

const test = suite('ui/config')
const stage = new Stage()
test.after.each(() => stage.clear())

const ASK: UiRequest = {
  method: 'GET',
  path: '',
  query: new URLSearchParams(),
  ifNoneMatch: undefined,
}

function viewOf({ gateway }: Reloading): ConfigView {
  return gateway.readApi.config(ASK, 'admin')
}

const TEXT = `routes:
  - name: api
    policies: { directResponse: { status: 200, body: one } }
`

test('names the file position of gateways, listeners, routes and backends', async () => {
  const text = `gateways:
  default: { port: \${PORT}, address: 127.0.0.1 }
routes:
  - name: api
    hostnames: [a.example]
    policies:
      timeout: { requestTimeout: 5s }
      backendAuth: { key: s3cret }
    backends:
      - host: localhost:80
`
  const gateway = stage.add(await Reloading.start(text))
  const { yaml, file, generation, warnings, resources, refusal } = viewOf(gateway)
  assert.match(
    yaml,
    `gateways:
  - name: default # ${file}:2
    address: 127.0.0.1:${gateway.port}
    listeners:
      - key: gateway/default # ${file}:2
        protocol: HTTP
        routes:
          - key: gateway/default/default/api # ${file}:4
            name: api
            hostnames:
              - a.example
            matches:
              - path:
                  pathPrefix: /
            policies:
              timeout:
                requestTimeout: 5s
              backendAuth:
                header:
                  key: "<redacted>"
                  name: authorization
                  prefix: "Bearer "
            backends:
              - key: gateway/default/default/api/backend0 # ${file}:10
                weight: 1
                host: localhost:80
`,
  )
  assert.match(yaml, /^config:\n {2}file: /)
  assert.match(yaml, '\nfrontendPolicies:\n')
  assert.not.match(yaml, 's3cret')
  assert.equal([generation, warnings, resources, refusal], [1, [], [], null])
})

test('lists resources with their conditions, and a refused reload', async () => {
  const resource = `---
apiVersion: gateway.dev/v1alpha1
kind: GatewayPolicy
metadata: { name: limit }
spec:
  targetRefs: [{ kind: HTTPRoute, name: apo }]
  traffic: { rateLimit: { local: [{ requests: 10, unit: Minutes }] } }
`
  const gateway = stage.add(await Reloading.start(TEXT + resource))
  const { resources, file } = viewOf(gateway)
  const [first] = resources
  assert.equal([first?.name, resources.length], ['default/limit', 1])
  assert.ok(first!.place.startsWith(`${file}:`))
  assert.equal(
    first!.conditions.map(({ target, type, status, reason }) => [target, type, status, reason]),
    [
      ['HTTPRoute apo', 'Accepted', 'True', 'Accepted'],
      ['HTTPRoute apo', 'Attached', 'False', 'TargetNotFound'],
    ],
  )
  assert.match(first!.conditions[1]!.message, "did you mean 'api'?")
  await gateway.refusal(TEXT.replace('directResponse', 'directRespons'))
  const { refusal, generation } = viewOf(gateway)
  assert.is(generation, 1)
  assert.match(refusal!.problems[0]!, "did you mean 'directResponse'?")
  assert.ok(refusal!.at <= Date.now())
  assert.is(gateway.gateway.readApi.runtime(ASK, 'admin').isRefused, true)
  await gateway.change(TEXT.replace('one', 'two'))
  const taken = viewOf(gateway)
  assert.equal([taken.generation, taken.refusal, taken.resources], [2, null, []])
  assert.match(taken.yaml, 'body: two')
})

test('is valid YAML without secrets for any configuration', () => {
  const config = parseConfig(RICH_CONFIG, { file: 'c.yaml', env: {}, gate: 'off' })
  const text = formatConfigYaml(config, config.process)
  const { gateways, ui, policies } = parse(text) as Record<string, Record<string, unknown>[]>
  assert.equal(
    gateways!.map(({ name }) => name),
    ['default', 'multi', 'mcp', 'llm'],
  )
  assert.ok(ui)
  assert.is(policies!.length, 1)
  assert.not.match(text, 'hush')
  assert.not.match(text, 'undefined')
  assert.not.match(text, '[object')
})

test('is cut at its limit', () => {
  const config = parseConfig(RICH_CONFIG, { file: 'c.yaml', env: {}, gate: 'off' })
  const text = formatConfigYaml(config, config.process, 2_000)
  assert.ok(text.length < 2_100)
  assert.match(text, /# cut here: the text is longer than 2000 characters\n$/)
  parse(text)
})

test.run()

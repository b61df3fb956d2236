// The JSON Schema and the tables made from it are up to date, accept every example and refuse invalid files.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseAllDocuments } from 'yaml'
import { QUICKSTART } from '../../lib/config/quickstart.ts'
import {
  buildConfigSchema,
  buildSchemaDefinitions,
  formatConfigSchema,
} from '../../lib/config/json-schema.ts'
import { withTables } from '../../schema/tables.ts'
import { ROOT } from '../support/root.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

const validate = new Ajv2020({ allErrors: true, strict: false, validateFormats: false }).compile(
  buildConfigSchema(),
)

/** Paths that the schema refuses in the documents of a text; variables are not expanded. */
function refused(text: string): string[] {
  return parseAllDocuments(text, { merge: true }).flatMap((document) => {
    const data: unknown = document.toJS()
    if (data === null || validate(data)) return []
    return (validate.errors ?? []).map(({ instancePath }) => instancePath)
  })
}

const schema = suite('schema')

schema('config.json is up to date (npm run schema)', () => {
  assert.is(read('schema/config.json'), formatConfigSchema())
})

schema('the tables of docs/configuration.md are up to date (npm run schema)', () => {
  const docs = read('docs/configuration.md')
  assert.ok(docs.includes('<!-- fields of gateways.* -->'))
  assert.is(docs, withTables(docs, buildSchemaDefinitions()))
})

schema('every field in a table has a description', () => {
  const undescribed = [...read('docs/configuration.md').matchAll(/^\| `(\S+)` \| .* \|  \|$/gm)]
  assert.equal(
    undescribed
      .map(([, name]) => name!)
      .filter((name) => !/\.(?:name|value|model|path|type)$/.test(name)),
    [],
  )
})

schema('accepts every example and the quickstart', () => {
  assert.equal(refused(QUICKSTART), [])
  for (const name of readdirSync(join(ROOT, 'examples')).filter((one) => one.endsWith('.yaml')))
    assert.equal(refused(read(`examples/${name}`)), [], name)
})

schema('accepts a variable for every value', () => {
  const text = `gateways: { a: { port: '\${P}', protocol: '\${X:-HTTP}' } }
routes: [{ gateways: a, policies: { timeout: { requestTimeout: '\${T}' } }, backends: [{ host: '\${H}' }] }]`
  assert.equal(refused(text), [])
})

const GATEWAY = 'gateways: { default: { port: 1 } }\n'

/** Invalid texts, and the path of the problem. */
const INVALID: readonly (readonly [string, string])[] = [
  ['hello', ''],
  ['unknown: 1', ''],
  ['gateways: { a: { prot: 1 } }', '/gateways/a'],
  ['gateways: { a: { port: x } }', '/gateways/a/port'],
  ['gateways: { a: { port: 70000 } }', '/gateways/a/port'],
  ['gateways: { a: { port: 1, protocol: HTPP } }', '/gateways/a/protocol'],
  [`${GATEWAY}routes: { a: 1 }`, '/routes'],
  [`${GATEWAY}routes: [{ backends: [{ weight: 1 }] }]`, '/routes/0/backends/0'],
  [`${GATEWAY}routes: [{ backends: [{ host: "a:1", backend: b }] }]`, '/routes/0/backends/0'],
  [
    `${GATEWAY}routes: [{ matches: [{ path: { exact: /a, regex: b } }] }]`,
    '/routes/0/matches/0/path',
  ],
  [
    `${GATEWAY}routes: [{ policies: { timeout: { requestTimeout: 10 } } }]`,
    '/routes/0/policies/timeout/requestTimeout',
  ],
  [`${GATEWAY}routes: [{ policies: { extProc: {} } }]`, '/routes/0/policies'],
  [
    `${GATEWAY}routes: [{ policies: { mcpAuthentication: {} } }]`,
    '/routes/0/policies/mcpAuthentication',
  ],
  ['mcp: { targets: [{ name: a_b, stdio: { cmd: x } }] }', '/mcp/targets/0/name'],
  ['mcp: { targets: [{ name: a }] }', '/mcp/targets/0'],
  ['mcp: { targets: [] }', '/mcp/targets'],
  ['llm: { models: [{ name: a, provider: unknown }] }', '/llm/models/0/provider'],
  ['kind: GatewayPolicy', ''],
  ['{ kind: Other, apiVersion: a/v1alpha1, metadata: { name: a }, spec: {} }', '/kind'],
]

schema('refuses what the gateway refuses, at the same path', () => {
  for (const [text, path] of INVALID)
    assert.ok(refused(text).includes(path), `${text}: ${refused(text).join()}`)
})

schema('contains every definition that it refers to', () => {
  const text = formatConfigSchema()
  const names = Object.keys(buildConfigSchema().$defs ?? {})
  for (const [, name] of text.matchAll(/#\/\$defs\/([^"]+)/g))
    assert.ok(names.includes(name!), name)
})

schema.run()

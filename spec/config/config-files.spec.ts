import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ConfigError } from '../../lib/config/config-error.ts'
import { loadFromTexts, loadConfig, configTextsOf } from '../../lib/config/load.ts'

const folder = mkdtempSync(join(tmpdir(), 'inputs-'))
const inputs = suite('files and folders')

inputs.after(() => rmSync(folder, { recursive: true }))

function write(name: string, text: string): string {
  const file = join(folder, name)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, text)
  return file
}

function refusal(...names: string[]): string[] {
  try {
    loadConfig(names, {})
    return []
  } catch (error) {
    assert.instance(error, ConfigError)
    return (error as ConfigError).message
      .split('\n')
      .map((line) => line.replaceAll(`${folder}/`, ''))
  }
}

const MAIN =
  'gateways: { default: { port: 1 } }\nroutes: [{ name: r, backends: [{ host: "a:1" }] }]\n'
const POLICY = `apiVersion: gateway.dev/v1alpha1
kind: GatewayPolicy
metadata: { name: p }
spec:
  targetRefs: [{ kind: HTTPRoute, name: r }]
  traffic: { rateLimit: { local: [{ requests: 1, unit: Hours }] } }
`

inputs('contain one configuration and any number of resources', () => {
  const main = write('main.yaml', MAIN)
  const policy = write('policy.yaml', POLICY)
  const config = loadConfig([policy, main], {})
  assert.is(config.file, main)
  assert.equal(config.files, [policy])
  assert.is(config.resources.length, 1)
  assert.is(config.resources[0]!.place, `${policy}:1:1`)
})

inputs('may be a folder, whose YAML and JSON files are read in order', () => {
  write('conf.d/20-policy.yml', POLICY)
  write('conf.d/10-main.yaml', MAIN)
  write('conf.d/30.json', JSON.stringify({ kind: 'GatewayPolicy', apiVersion: 'a/v1alpha1' }))
  write('conf.d/readme.txt', 'not: [yaml')
  write('conf.d/.hidden.yaml', 'not: [yaml')
  mkdirSync(join(folder, 'conf.d/sub.yaml'))
  const config = loadConfig([join(folder, 'conf.d')], {})
  assert.is(config.file, join(folder, 'conf.d/10-main.yaml'))
  assert.equal(config.folders, [join(folder, 'conf.d')])
  assert.equal(
    config.resources.map(({ place }) => place.replace(/^.*\//, '')),
    ['20-policy.yml:1:1', '30.json:1:1'],
  )
})

inputs('follow symlinks, as in mounted volumes', () => {
  write('mount/..data/main.yaml', MAIN)
  symlinkSync('..data/main.yaml', join(folder, 'mount/main.yaml'))
  assert.is(loadConfig([join(folder, 'mount')], {}).gateways.length, 1)
})

inputs('report the problems of all files at once', () => {
  const one = write('one.yaml', 'a: [1\n')
  const two = write('two.yaml', 'b: ${ABSENT}\n')
  const lines = refusal(one, two)
  assert.is(lines.length, 2)
  assert.match(lines[0]!, 'one.yaml:2:1: invalid YAML: ')
  assert.is(lines[1], 'two.yaml:1:4: b: environment variable not found: ABSENT')
  assert.equal(refusal(join(folder, 'a'), join(folder, 'b')), [
    'a: cannot read the configuration file: no such file',
    'b: cannot read the configuration file: no such file',
  ])
})

inputs('refuse a folder without files, and two configurations', () => {
  mkdirSync(join(folder, 'empty'))
  assert.equal(refusal(join(folder, 'empty')), [
    'empty: got a folder without YAML files, expected at least one',
  ])
  const main = write('main.yaml', MAIN)
  assert.equal(refusal(main, write('more.yaml', 'routes: []\n')), [
    'more.yaml:1:1: got a second configuration after main.yaml:1:1, expected one, and documents of kind GatewayPolicy',
  ])
  // A file that is given twice is read once.
  assert.equal(refusal(main, main), [])
})

inputs('refuse to read a device', () => {
  const text = 'gateways: { a: { port: 1, tls: { cert: /dev/zero, key: /dev/zero } } }'
  for (const line of refusal(write('device.yaml', text)))
    assert.match(line, "cannot read '/dev/zero': it is not a regular file, expected a PEM file")
})

inputs('give the same configuration from their texts after all files are deleted', () => {
  const users = write('again/users', 'ann:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=')
  const auth = `policies: { basicAuth: { htpasswd: { file: ${users} } } }`
  const text = MAIN.replace('backends:', `${auth}, backends:`)
  const config = loadConfig([write('again/main.yaml', text)], {})
  rmSync(join(folder, 'again'), { recursive: true })
  // JSON, as on the channel between processes.
  const texts = JSON.parse(JSON.stringify(configTextsOf(config))) as ReturnType<
    typeof configTextsOf
  >
  assert.is(texts.named.length, 1)
  assert.equal(loadFromTexts(texts, {}), config)
})

inputs.run()

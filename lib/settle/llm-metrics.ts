// Metrics of LLM requests: tokens and durations by operation, provider and model. Metric names follow OpenTelemetry.

import type { LlmFacts } from '../core/facts.ts'
import { Histogram, OTHER_LABEL, UNKNOWN_LABEL } from '../core/metric-families.ts'
import type { MetricFamily, MetricLabels } from '../core/metric-families.ts'

/** Bounds the combinations of operation, provider and model: clients can send any model name. */
export const MAX_MODEL_SERIES = 256
const MAX_LABEL_LENGTH = 64

const TOKEN_BOUNDS = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576]
const FIRST_TOKEN_SECONDS = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
]
const PER_TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5]
const DURATION_SECONDS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
]

const TOKEN_TYPES = ['input', 'output', 'input_cache_read', 'input_cache_write'] as const

type ModelNames = readonly [
  operation: string,
  provider: string,
  requested: string,
  answered: string,
]

class ModelMetrics {
  readonly labels: MetricLabels
  readonly tokens = TOKEN_TYPES.map(() => new Histogram(TOKEN_BOUNDS))
  readonly timeToFirstToken = new Histogram(FIRST_TOKEN_SECONDS)
  readonly timePerToken = new Histogram(PER_TOKEN_SECONDS)
  readonly duration = new Histogram(DURATION_SECONDS)

  constructor([operation, provider, requested, answered]: ModelNames) {
    this.labels = {
      gen_ai_operation_name: operation,
      gen_ai_provider_name: provider,
      gen_ai_request_model: requested,
      gen_ai_response_model: answered,
    }
  }
}

export class LlmMetrics {
  readonly #models = new Map<string, ModelMetrics>()
  #others: ModelMetrics | null = null

  /** `seconds` is the time from the request head to the end of the response. */
  count(llm: LlmFacts, seconds: number): void {
    const model = this.#metricsFor(llm)
    const { inputTokens, outputTokens, cachedInputTokens, cacheCreationInputTokens } = llm
    const { tokens } = model
    if (inputTokens !== undefined) tokens[0]!.add(inputTokens)
    if (outputTokens !== undefined) tokens[1]!.add(outputTokens)
    if (cachedInputTokens !== undefined) tokens[2]!.add(cachedInputTokens)
    if (cacheCreationInputTokens !== undefined) tokens[3]!.add(cacheCreationInputTokens)
    model.duration.add(seconds)
    if (llm.timeToFirstToken !== undefined)
      model.timeToFirstToken.add(parseFloat(llm.timeToFirstToken))
    if (llm.timePerOutputToken !== undefined)
      model.timePerToken.add(parseFloat(llm.timePerOutputToken))
  }

  collect(): MetricFamily[] {
    const models = [...this.#models.values(), ...(this.#others === null ? [] : [this.#others])]
    const histograms = (pick: (model: ModelMetrics) => Histogram): MetricFamily['series'] =>
      models.map((model) => [model.labels, pick(model)])
    const kind = 'histogram'
    return [
      {
        name: 'gen_ai_client_token_usage',
        kind,
        help: 'Tokens of LLM requests; cached tokens are part of the input',
        series: models.flatMap((model) =>
          TOKEN_TYPES.map(
            (type, index) =>
              [{ gen_ai_token_type: type, ...model.labels }, model.tokens[index]!] as const,
          ),
        ),
      },
      {
        name: 'gen_ai_server_request_duration',
        kind,
        help: 'Seconds from an LLM request to the end of its response',
        series: histograms(({ duration }) => duration),
      },
      {
        name: 'gen_ai_server_time_to_first_token',
        kind,
        help: 'Seconds to the first token of a streamed response',
        series: histograms(({ timeToFirstToken }) => timeToFirstToken),
      },
      {
        name: 'gen_ai_server_time_per_output_token',
        kind,
        help: 'Seconds per output token after the first',
        series: histograms(({ timePerToken }) => timePerToken),
      },
    ]
  }

  #metricsFor({ operation, provider, requestModel, responseModel }: LlmFacts): ModelMetrics {
    const names: ModelNames = [
      clipLabel(operation),
      clipLabel(provider),
      clipLabel(requestModel),
      clipLabel(responseModel),
    ]
    const key = names.join('\0')
    let model = this.#models.get(key)
    if (model !== undefined) return model
    if (this.#models.size >= MAX_MODEL_SERIES)
      return (this.#others ??= new ModelMetrics([
        OTHER_LABEL,
        OTHER_LABEL,
        OTHER_LABEL,
        OTHER_LABEL,
      ]))
    model = new ModelMetrics(names)
    this.#models.set(key, model)
    return model
  }
}

function clipLabel(name: string | undefined): string {
  if (name === undefined || name === '') return UNKNOWN_LABEL
  return name.length > MAX_LABEL_LENGTH ? name.slice(0, MAX_LABEL_LENGTH) : name
}

package cli

import "encoding/json"

// rayVariable holds what ray.init() takes over from the one who started the driver: Ray's own job
// submission sets it. By it the environment reaches the workers, also those of a cluster that is there
// already, on other hosts; a runtime_env of the driver is laid over it.
const (
	rayVariable = "RAY_JOB_CONFIG_JSON_ENV_VAR"
	rayOverride = "RAY_OVERRIDE_JOB_RUNTIME_ENV"
)

// rayJobConfig adds the variables to what the variable holds, and returns it in the form of os.Environ.
// What cannot be read is left as it is.
func rayJobConfig(old string, vars map[string]string) string {
	config := map[string]any{}
	if old != "" && json.Unmarshal([]byte(old), &config) != nil {
		return rayVariable + "=" + old
	}
	runtimeEnv, _ := config["runtime_env"].(map[string]any)
	if runtimeEnv == nil {
		runtimeEnv = map[string]any{}
	}
	envVars, _ := runtimeEnv["env_vars"].(map[string]any)
	if envVars == nil {
		envVars = map[string]any{}
	}
	for name, value := range vars {
		envVars[name] = value
	}
	runtimeEnv["env_vars"] = envVars
	config["runtime_env"] = runtimeEnv
	text, err := json.Marshal(config)
	if err != nil {
		return rayVariable + "=" + old
	}
	return rayVariable + "=" + string(text)
}

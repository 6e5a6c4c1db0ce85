package producer

import (
	"fmt"
	"strings"
)

// SettingError says which setting has a wrong value, or which do not go together. Settings are fields
// of Config, or variables of the environment where the value came from there.
type SettingError struct {
	Settings []string
	Problem  string
}

// Error implements error.
func (e *SettingError) Error() string {
	return "producer: " + strings.Join(e.Settings, ", ") + ": " + e.Problem
}

// FromEnv reports whether the environment, and not Config, holds what is wrong.
func (e *SettingError) FromEnv() bool { return strings.HasPrefix(e.Settings[0], "OTEL_") }

func settingError(setting, format string, args ...any) *SettingError {
	return &SettingError{Settings: []string{setting}, Problem: fmt.Sprintf(format, args...)}
}
